/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.h - a sandbox without work gives its memory back
 *
 * Idle is a machine that nobody looks at (no client has a session or waits for
 * an answer), whose CPUs rest and whose published ports nobody uses. After
 * spec->idle_s of that it is suspended.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct message_stats;
struct sandbox;

struct idle {
	/* private */
	struct timer timer;
	bool asked;         /* STATS is under way for us */
	bool traffic;       /* of a published port, since the last look */
	uint64_t since_ms;  /* idle since; 0: it is not */
	uint64_t busy_ms;   /* of the CPUs, at the last look */
	uint64_t looked_ms; /* when that was; 0: never */
};

/* The machine runs. */
void idle_start(struct sandbox *sandbox);
void idle_stop(struct sandbox *sandbox);
void idle_on_stats(struct sandbox *sandbox, const struct message_stats *stats);
/* A published port was used. */
void idle_on_traffic(struct sandbox *sandbox);
/* Pure: so much CPU time in that time is rest. */
bool idle_is_rest(uint64_t busy_ms, uint64_t passed_ms);
