/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ramshim_spin.h - tells a CPU of the guest that spins from one that works
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	SPIN_NEAR_NS = 2000, /* an exception takes a kernel longer than this */
	SPIN_COUNT = 256,    /* so many in a row: about 150 us */
	SPIN_NAP_NS = 100000,
};

/* This thread is an emulated CPU: it has jumped before. */
extern __thread bool ramshim_is_cpu;

struct spin_watch {
	uint64_t last_ns;
	unsigned count;
};

/* True when one who jumps at this moment has spun for nothing. */
bool spin_watch_jump(struct spin_watch *watch, uint64_t now_ns);
