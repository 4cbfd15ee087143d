/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - programs start when the shared folders are there
 */
#include "guest/gate.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"

static struct gate {
	uint32_t open;
	uint32_t required;
} * gate;

int gate_init(void)
{
	void *memory = mmap(NULL, sizeof(*gate), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return -1;
	gate = memory;
	return 0;
}

static void wake_all(void)
{
	syscall(SYS_futex, &gate->open, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gate_require(void)
{
	__atomic_store_n(&gate->required, 1, __ATOMIC_SEQ_CST);
}

void gate_open(void)
{
	__atomic_store_n(&gate->open, 1, __ATOMIC_SEQ_CST);
	wake_all();
}

void gate_reset(void)
{
	__atomic_store_n(&gate->required, 0, __ATOMIC_SEQ_CST);
	__atomic_store_n(&gate->open, 0, __ATOMIC_SEQ_CST);
}

bool gate_is_open(void)
{
	return __atomic_load_n(&gate->open, __ATOMIC_SEQ_CST);
}

void gate_wait(unsigned timeout_ms)
{
	uint64_t now = loop_now_ms(), deadline = now + timeout_ms;

	while (gate && __atomic_load_n(&gate->required, __ATOMIC_SEQ_CST) &&
	       !gate_is_open() && now < deadline) {
		struct timespec left = {
			.tv_sec = (time_t)((deadline - now) / 1000),
			.tv_nsec = (long)((deadline - now) % 1000 * 1000000),
		};

		syscall(SYS_futex, &gate->open, FUTEX_WAIT, 0, &left, NULL, 0);
		now = loop_now_ms();
	}
}
