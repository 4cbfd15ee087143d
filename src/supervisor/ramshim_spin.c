/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ramshim_spin.c - preloaded into QEMU: an emulated CPU that spins makes room
 *
 * A kernel that waits for a lock of another CPU repeats PAUSE. For QEMU each
 * one is a way out of the emulated code (a longjmp) and through its one big
 * lock, which whoever runs takes again before a sleeper has woken up. So the
 * other CPU, which holds the guest's lock and needs QEMU's to send an
 * interrupt, waits for the one that waits for it, and a core of the host is
 * busy with that. It was a sixth of what a fork costs when eight start on two
 * cores.
 *
 * Every exception of the guest takes the same way out, but none is followed by
 * the next one so soon, so many times. Nothing is locked at that point, and a
 * nap is no more than an interrupt of the host's. The limits are such that
 * programs whose locks are held for some microseconds never nap: with shorter
 * ones small messages between two processes took a third longer.
 *
 * Only the fortified form is replaced: coroutines use the plain one.
 */
#include "supervisor/ramshim_spin.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>
#include <time.h>

typedef void jump_fn(struct __jmp_buf_tag *env, int value);

_Noreturn void __longjmp_chk(struct __jmp_buf_tag *env, int value);

static jump_fn *next_jump;
static __thread struct spin_watch watch;
__thread bool ramshim_is_cpu;

__attribute__((constructor)) static void find_next(void)
{
	next_jump = (jump_fn *)dlsym(RTLD_NEXT, "__longjmp_chk");
}

bool spin_watch_jump(struct spin_watch *seen, uint64_t now_ns)
{
	bool near = now_ns - seen->last_ns < SPIN_NEAR_NS;

	seen->last_ns = now_ns;
	seen->count = near ? seen->count + 1 : 0;
	if (seen->count < SPIN_COUNT)
		return false;
	seen->count = 0;
	return true;
}

_Noreturn void __longjmp_chk(struct __jmp_buf_tag *env, int value)
{
	const struct timespec nap = { .tv_nsec = SPIN_NAP_NS };
	struct timespec now = { 0 };

	ramshim_is_cpu = true;
	clock_gettime(CLOCK_MONOTONIC, &now);
	if (spin_watch_jump(&watch, (uint64_t)now.tv_sec * 1000000000u +
					    (uint64_t)now.tv_nsec))
		nanosleep(&nap, NULL);
	next_jump(env, value);
	abort();
}
