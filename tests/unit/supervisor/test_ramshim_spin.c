/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ramshim_spin.c - unit tests of supervisor/ramshim_spin.h
 */
#include "supervisor/ramshim_spin.h"

#include <setjmp.h>

#include "lib/tap.h"

_Noreturn void __longjmp_chk(struct __jmp_buf_tag *env, int value);

/* How often it naps in count jumps that are step_ns apart. */
static unsigned naps(struct spin_watch *watch, unsigned count, uint64_t step_ns)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < count; i++)
		sum += spin_watch_jump(watch, watch->last_ns + step_ns);
	return sum;
}

static void one_that_spins_naps_now_and_then(void)
{
	struct spin_watch watch = { .last_ns = 1000000 };

	CHECK(naps(&watch, SPIN_COUNT - 1, 500) == 0);
	CHECK(naps(&watch, 1, 500) == 1);
	CHECK(naps(&watch, 10 * SPIN_COUNT, 500) == 10);
}

static void one_that_works_never_naps(void)
{
	struct spin_watch watch = { .last_ns = 1000000 };

	CHECK(naps(&watch, 100 * SPIN_COUNT, SPIN_NEAR_NS) == 0);
	for (int i = 0; i < 100; i++) {
		CHECK(naps(&watch, SPIN_COUNT - 1, 500) == 0);
		CHECK(naps(&watch, 1, SPIN_NEAR_NS) == 0);
	}
}

static void the_first_jump_counts_as_far(void)
{
	struct spin_watch watch = { 0 };

	CHECK(!spin_watch_jump(&watch, 1ull << 50));
	CHECK(watch.count == 0);
}

static void a_jump_arrives_with_its_value(void)
{
	static sigjmp_buf place;
	volatile int jumps = 0;
	int value = sigsetjmp(place, 0);

	CHECK(value == jumps);
	jumps = jumps + 1;
	if (jumps <= 3 * SPIN_COUNT)
		__longjmp_chk(place, jumps);
	CHECK(jumps == 3 * SPIN_COUNT + 1);
}

int main(void)
{
	RUN(one_that_spins_naps_now_and_then);
	RUN(one_that_works_never_naps);
	RUN(the_first_jump_counts_as_far);
	RUN(a_jump_arrives_with_its_value);
	return DONE();
}
