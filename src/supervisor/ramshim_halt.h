/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ramshim_halt.h - when a halted CPU of the guest looks before it sleeps
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum {
	HALT_LOOK_NS = 60000, /* a program in the guest answers within that */
	/* Between two looks lies far less, unless somebody else ran. */
	HALT_DISTURBED_NS = 20000,
	HALT_CREDIT_MAX = 8, /* so many waits in vain in a row */
	HALT_SKIP_MIN = 4,
	HALT_SKIP_MAX = 64,
};

struct halt_watch {
	unsigned credit;
	unsigned skip, skipped; /* halts that just sleep; so many did */
};

/* A CPU halts. True: it may look; false: it sleeps at once. */
bool halt_may_look(struct halt_watch *watch);
/*
 * How that ended: it was woken meanwhile, or not; or somebody else wanted the
 * core, whom it must not keep from running.
 */
void halt_looked(struct halt_watch *watch, bool woken, bool disturbed);
