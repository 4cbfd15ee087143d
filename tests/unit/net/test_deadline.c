/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_deadline.c - many waits of the same length
 */
#include "net/deadline.h"

#include "base/error.h"
#include "lib/tap.h"

#define MANY 10000

struct waiter {
	struct deadline deadline;
	int fired;
};

static struct loop *loop;
static struct deadlines queue;
static struct waiter waiters[MANY];
static int order[8], order_len;
static struct waiter *to_stop;

static void on_due(struct deadline *deadline)
{
	struct waiter *waiter = CONTAINER_OF(deadline, struct waiter, deadline);

	waiter->fired++;
	if (order_len < 8)
		order[order_len++] = (int)(waiter - waiters);
	if (to_stop)
		deadline_stop(&to_stop->deadline);
}

static void begin(uint64_t delay_ms)
{
	loop = loop_new(NULL);
	deadlines_init(&queue, loop, "test", delay_ms);
	for (int i = 0; i < MANY; i++) {
		waiters[i].fired = 0;
		deadline_init(&waiters[i].deadline, on_due);
	}
	order_len = 0;
	to_stop = NULL;
}

static void finish(void)
{
	deadlines_release(&queue);
	loop_free(loop);
}

static void run_until_due(void)
{
	uint64_t end = loop_now_ms() + 5000;

	while (!list_empty(&queue.waiting) && loop_now_ms() < end)
		loop_step(loop, 100, NULL);
}

static void they_come_in_the_order_of_their_start(void)
{
	begin(10);
	for (int i = 0; i < 3; i++)
		deadline_start(&queue, &waiters[i].deadline);
	deadline_start(&queue, &waiters[0].deadline);
	run_until_due();
	CHECK(order_len == 3);
	CHECK(order[0] == 1 && order[1] == 2 && order[2] == 0);
	finish();
}

static void none_comes_before_its_time(void)
{
	uint64_t start;

	begin(30);
	start = loop_now_ms();
	deadline_start(&queue, &waiters[0].deadline);
	run_until_due();
	CHECK(waiters[0].fired == 1 && loop_now_ms() - start >= 30);
	finish();
}

static void stopped_ones_do_not_come(void)
{
	begin(10);
	for (int i = 0; i < 3; i++)
		deadline_start(&queue, &waiters[i].deadline);
	deadline_stop(&waiters[0].deadline);
	deadline_stop(&waiters[0].deadline);
	to_stop = &waiters[2];
	run_until_due();
	CHECK(!waiters[0].fired && waiters[1].fired && !waiters[2].fired);
	finish();
}

static void one_can_start_again_when_it_is_due(void)
{
	begin(0);
	deadline_start(&queue, &waiters[0].deadline);
	run_until_due();
	deadline_start(&queue, &waiters[0].deadline);
	run_until_due();
	CHECK(waiters[0].fired == 2);
	finish();
}

static void thousands_are_no_burden(void)
{
	int fired = 0;

	begin(20);
	for (int i = 0; i < MANY; i++)
		deadline_start(&queue, &waiters[i].deadline);
	for (int i = 0; i < MANY; i += 2)
		deadline_stop(&waiters[i].deadline);
	run_until_due();
	for (int i = 0; i < MANY; i++)
		fired += waiters[i].fired;
	CHECK(fired == MANY / 2);
	finish();
}

int main(void)
{
	RUN(they_come_in_the_order_of_their_start);
	RUN(none_comes_before_its_time);
	RUN(stopped_ones_do_not_come);
	RUN(one_can_start_again_when_it_is_due);
	RUN(thousands_are_no_burden);
	return DONE();
}
