/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_spin.h - looking again for a while instead of going to sleep
 *
 * A program that makes or reads many small files asks, waits for the answer
 * and asks the next at once. To wake a sleeping relay on another CPU for each
 * of these costs an interrupt between CPUs, and where the machine is virtual
 * the wake-up of a halted CPU on the host: more than the rest of the request.
 * While the next one mostly comes soon, the relay looks for it a while before
 * it sleeps.
 *
 * It must not take a CPU for long from somebody who needs it: it looks for an
 * instant only, not when the last waits were long, and not when it is the only
 * CPU. When it was kept from running meanwhile, somebody wants the CPU: not a
 * program of the guest, to which it is preferred, but the host, and mostly for
 * the very server that is waited for. It gives way at once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct epoll_event;
struct rings;

#define SPIN_NS 400000ULL /* an answer of the host takes 300 us */
/* Of one that sleeps it includes the wake-up. */
#define SPIN_SHORT_NS 500000ULL
/* Between two looks lie some microseconds, unless somebody else ran. */
#define SPIN_DISTURBED_NS 60000ULL
/* The likely one is asked for so many times before all are. */
#define SPIN_TAKES 8
#define SPIN_FROM 4 /* so many more short waits than long ones */
#define SPIN_MOST 16

struct spin {
	bool off;       /* the only CPU is the other's */
	bool disturbed; /* in this wait */
	unsigned score;
	unsigned takes;               /* since all were asked */
	uint64_t began_ns, looked_ns; /* this wait, the last look */
};

void spin_init(struct spin *spin);
/* Where else something may come; rings: NULL, there is nothing else. */
struct spin_beside {
	struct rings *rings;
	bool full; /* room there is waited for, too */
	/* Takes what has most likely come; false: nothing has. May be NULL. */
	bool (*take)(void *ctx);
	/* It is about to sleep: everything has to be heard of from now on. */
	void (*rest)(void *ctx);
	void *ctx;
};

/*
 * As epoll_wait(). 0 also when the rings are ready, or something was taken; but
 * now and then all others are asked first.
 */
int spin_wait(struct spin *spin, int epoll_fd, struct epoll_event *events,
	      int max, int timeout_ms, const struct spin_beside *beside);

/* The parts of spin_wait() that decide. Pure. */
void spin_begin(struct spin *spin, uint64_t now_ns);
/* Nothing has come yet. True: look again; false: sleep. */
bool spin_again(struct spin *spin, uint64_t now_ns);
/* Something has come, or it was waited for long enough. */
void spin_end(struct spin *spin, uint64_t now_ns);
