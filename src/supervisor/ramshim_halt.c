/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ramshim_halt.c - preloaded into QEMU: a CPU that halts looks before it sleeps
 *
 * Two programs in the guest that wait for each other in turn, each on its CPU,
 * halt and wake those CPUs all the time. For QEMU a halted CPU is a thread that
 * waits on a condition variable: to sleep there and to be woken takes two
 * system calls and the time in which the host's core comes back, more than what
 * the programs have to say to each other. So such a thread looks for some
 * microseconds whether it is woken. With that a message through a pipe and back
 * took a quarter of the time, and a request to the files relay half.
 *
 * It does so only where it pays: after some waits in vain it sleeps at once,
 * for more and more halts; and when it was kept from running meanwhile,
 * somebody else wants the core, and it sleeps as well. So an idle guest, and a
 * host with more machines than cores, do not notice.
 *
 * Which wait is a CPU's: only CPUs leave their code by a jump (ramshim_spin.c).
 * A return without a signal is what every waiter must reckon with.
 */
#include "supervisor/ramshim_halt.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "supervisor/ramshim_spin.h"

/* Two of the same place wake each other: harmless, but in vain. */
#define CONDITIONS 4096
#define LOOKS 20 /* between two looks at the clock */

typedef int wait_fn(pthread_cond_t *condition, pthread_mutex_t *mutex);
typedef int wake_fn(pthread_cond_t *condition);

static wait_fn *next_wait;
static wake_fn *next_signal, *next_broadcast;
static atomic_uint calls[CONDITIONS];
static __thread struct halt_watch watch;
static __thread const pthread_cond_t *looked; /* in vain, the last time */

/* The plain name may stand for one of a libc of long ago. */
static void *find(const char *name)
{
	void *found = dlvsym(RTLD_NEXT, name, "GLIBC_2.3.2");

	return found ? found : dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void find_next(void)
{
	next_wait = (wait_fn *)find("pthread_cond_wait");
	next_signal = (wake_fn *)find("pthread_cond_signal");
	next_broadcast = (wake_fn *)find("pthread_cond_broadcast");
}

bool halt_may_look(struct halt_watch *seen)
{
	if (seen->skipped >= seen->skip)
		return true;
	seen->skipped++;
	return false;
}

void halt_looked(struct halt_watch *seen, bool woken, bool disturbed)
{
	if (woken && !disturbed) {
		seen->skip = 0;
		if (seen->credit < HALT_CREDIT_MAX)
			seen->credit++;
		return;
	}
	if (disturbed)
		seen->credit = 0;
	if (seen->credit) {
		seen->credit--;
		return;
	}
	seen->skipped = 0;
	seen->skip = seen->skip < HALT_SKIP_MIN   ? HALT_SKIP_MIN
		     : seen->skip < HALT_SKIP_MAX ? 2 * seen->skip
						  : HALT_SKIP_MAX;
}

static uint64_t now_ns(void)
{
	struct timespec now = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pause_cpu(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#endif
}

/* False: nobody has called since it was `seen`. */
static bool look(atomic_uint *call, unsigned seen, bool *disturbed)
{
	uint64_t begin = now_ns(), last = begin, now = begin;

	while (!*disturbed && now - begin < HALT_LOOK_NS) {
		for (int i = 0; i < LOOKS; i++) {
			if (atomic_load(call) != seen)
				return true;
			pause_cpu();
		}
		now = now_ns();
		*disturbed = now - last >= HALT_DISTURBED_NS;
		last = now;
	}
	return false;
}

static atomic_uint *call_of(const pthread_cond_t *condition)
{
	return &calls[(uintptr_t)condition / sizeof(*condition) % CONDITIONS];
}

/*
 * Who looked in vain goes back to its caller, and sleeps when it is called once
 * more: what it waits for may have come true while it looked, with the call
 * still to follow, and who calls need not hold the mutex.
 */
int pthread_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
	atomic_uint *call = call_of(condition);
	bool disturbed = false, woken, again = looked == condition;
	unsigned seen;

	looked = NULL;
	if (!ramshim_is_cpu || again || !halt_may_look(&watch))
		return next_wait(condition, mutex);
	seen = atomic_load(call);
	pthread_mutex_unlock(mutex);
	woken = look(call, seen, &disturbed);
	pthread_mutex_lock(mutex);
	halt_looked(&watch, woken, disturbed);
	if (!woken)
		looked = condition;
	return 0;
}

int pthread_cond_signal(pthread_cond_t *condition)
{
	atomic_fetch_add(call_of(condition), 1);
	return next_signal(condition);
}

int pthread_cond_broadcast(pthread_cond_t *condition)
{
	atomic_fetch_add(call_of(condition), 1);
	return next_broadcast(condition);
}
