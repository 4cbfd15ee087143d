/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_ramshim_halt.c - unit tests of supervisor/ramshim_halt.h
 */
#include "supervisor/ramshim_halt.h"

#include <pthread.h>
#include <time.h>

#include "lib/tap.h"
#include "supervisor/ramshim_spin.h"

/* In so many halts, how often does it look, when that ends like this? */
static unsigned looks(struct halt_watch *watch, unsigned halts, bool woken,
		      bool disturbed)
{
	unsigned sum = 0;

	for (unsigned i = 0; i < halts; i++) {
		if (!halt_may_look(watch))
			continue;
		halt_looked(watch, woken, disturbed);
		sum++;
	}
	return sum;
}

static void one_that_is_woken_soon_always_looks(void)
{
	struct halt_watch watch = { 0 };

	CHECK(looks(&watch, 1000, true, false) == 1000);
	/* Some that last longer do not change that. */
	CHECK(looks(&watch, HALT_CREDIT_MAX, false, false) == HALT_CREDIT_MAX);
	CHECK(looks(&watch, 1000, true, false) == 1000);
}

static void one_that_waits_in_vain_looks_less_and_less(void)
{
	struct halt_watch watch = { 0 };

	CHECK(looks(&watch, 1000, false, false) < 30);
	CHECK(looks(&watch, 100 * (HALT_SKIP_MAX + 1), false, false) == 100);
	/* But the first that pays brings it back. */
	CHECK(looks(&watch, HALT_SKIP_MAX + 1, true, false) >= 1);
	CHECK(looks(&watch, 100, true, false) == 100);
}

static void one_that_others_keep_from_running_gives_way(void)
{
	struct halt_watch watch = { 0 };

	CHECK(looks(&watch, 100, true, false) == 100);
	CHECK(looks(&watch, 1, true, true) == 1);
	CHECK(looks(&watch, HALT_SKIP_MIN, true, false) == 0);
	CHECK(looks(&watch, 100, true, true) < 10);
}

struct turns {
	pthread_mutex_t mutex;
	pthread_cond_t changed[2];
	int turn, left;
	long sleep_ns; /* before each turn of the second */
	bool are_cpus;
	bool call_late; /* without the mutex */
};

static void call(struct turns *turns, int whom)
{
	if (turns->call_late)
		pthread_mutex_unlock(&turns->mutex);
	if (whom)
		pthread_cond_broadcast(&turns->changed[whom]);
	else
		pthread_cond_signal(&turns->changed[whom]);
	if (turns->call_late)
		pthread_mutex_lock(&turns->mutex);
}

static void take_turns(struct turns *turns, int own)
{
	ramshim_is_cpu = turns->are_cpus;
	pthread_mutex_lock(&turns->mutex);
	while (turns->left) {
		if (turns->turn != own) {
			pthread_cond_wait(&turns->changed[own], &turns->mutex);
			continue;
		}
		if (own && turns->sleep_ns) {
			const struct timespec nap = { .tv_nsec =
							      turns->sleep_ns };

			pthread_mutex_unlock(&turns->mutex);
			nanosleep(&nap, NULL);
			pthread_mutex_lock(&turns->mutex);
		}
		turns->left--;
		turns->turn = !own;
		call(turns, !own);
	}
	pthread_mutex_unlock(&turns->mutex);
}

static void *second(void *ctx)
{
	take_turns(ctx, 1);
	return NULL;
}

static int play(int left, long sleep_ns, bool are_cpus, bool call_late)
{
	struct turns turns = { .mutex = PTHREAD_MUTEX_INITIALIZER,
			       .changed = { PTHREAD_COND_INITIALIZER,
					    PTHREAD_COND_INITIALIZER },
			       .left = left,
			       .sleep_ns = sleep_ns,
			       .are_cpus = are_cpus,
			       .call_late = call_late };
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, second, &turns) == 0);
	take_turns(&turns, 0);
	pthread_join(thread, NULL);
	return turns.left;
}

/* One that is lost would be waited for until the test is ended. */
static void no_call_is_lost(void)
{
	for (int late = 0; late < 2; late++) {
		CHECK(play(20000, 0, true, late) == 0);
		/* While it looks, about when it sleeps, and long after. */
		CHECK(play(400, HALT_LOOK_NS / 4, true, late) == 0);
		CHECK(play(400, HALT_LOOK_NS, true, late) == 0);
		CHECK(play(100, 5L * HALT_LOOK_NS, true, late) == 0);
	}
}

/* Nobody calls: what has come true meanwhile, only its caller can tell. */
static void *look_in_vain(void *ctx)
{
	struct turns *turns = ctx;

	ramshim_is_cpu = true;
	pthread_mutex_lock(&turns->mutex);
	turns->left = pthread_cond_wait(&turns->changed[0], &turns->mutex);
	pthread_mutex_unlock(&turns->mutex);
	return NULL;
}

static void one_that_looked_in_vain_asks_before_it_sleeps(void)
{
	struct turns turns = { .mutex = PTHREAD_MUTEX_INITIALIZER,
			       .changed = { PTHREAD_COND_INITIALIZER },
			       .left = 1 };
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, look_in_vain, &turns) == 0);
	pthread_join(thread, NULL);
	CHECK(turns.left == 0);
}

static void who_is_no_cpu_waits_as_ever(void)
{
	CHECK(play(200, HALT_LOOK_NS, false, false) == 0);
}

int main(void)
{
	RUN(one_that_is_woken_soon_always_looks);
	RUN(one_that_waits_in_vain_looks_less_and_less);
	RUN(one_that_others_keep_from_running_gives_way);
	RUN(no_call_is_lost);
	RUN(one_that_looked_in_vain_asks_before_it_sleeps);
	RUN(who_is_no_cpu_waits_as_ever);
	return DONE();
}
