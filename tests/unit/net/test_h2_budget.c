/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_h2_budget.c - so many at once, and so many in each second after that
 */
#include "net/h2_budget.h"

#include "lib/tap.h"

static unsigned spend(struct h2_budget *budget, uint64_t now_ms, unsigned most)
{
	unsigned count = 0;

	while (count < most && h2_budget_spend(budget, now_ms))
		count++;
	return count;
}

static void a_burst_is_given_back_slowly(void)
{
	struct h2_budget budget = { .burst = 10, .per_second = 2 };

	CHECK(spend(&budget, 5000, 100) == 10);
	CHECK(spend(&budget, 5000, 100) == 0);
	CHECK(spend(&budget, 5499, 100) == 0);
	CHECK(spend(&budget, 5500, 100) == 1);
	CHECK(spend(&budget, 6500, 100) == 2);
	CHECK(spend(&budget, 1000000, 100) == 10);
}

static void who_keeps_to_the_pace_never_ends(void)
{
	struct h2_budget budget = { .burst = 3, .per_second = 100 };

	for (uint64_t now = 1000; now < 60000; now += 10)
		CHECK(spend(&budget, now, 1) == 1);
}

/* Many small pauses are worth as much as a long one. */
static void waiting_often_costs_nothing(void)
{
	struct h2_budget budget = { .burst = 1, .per_second = 1 };
	unsigned count = 0;

	for (uint64_t now = 1000; now < 11000; now += 7)
		count += spend(&budget, now, 1);
	CHECK(count >= 9 && count <= 11);
}

int main(void)
{
	RUN(a_burst_is_given_back_slowly);
	RUN(who_keeps_to_the_pace_never_ends);
	RUN(waiting_often_costs_nothing);
	return DONE();
}
