/* SPDX-License-Identifier: Apache-2.0 */
/*
 * deadline.h - many waits of the same length, at the cost of one timer
 *
 * The loop's timers are a sorted list for a handful. Here are thousands, but
 * of few lengths: in a queue of one length whoever comes later is due later,
 * so starting and stopping is one step.
 */
#pragma once

#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"

struct deadline;
typedef void deadline_fn(struct deadline *deadline);

struct deadlines {
	struct loop *loop;
	uint64_t delay_ms;
	struct timer timer;
	struct list waiting; /* first due first */
};

struct deadline {
	deadline_fn *on_due;
	struct list link; /* private, like all below */
	uint64_t due_ms;
};

void deadlines_init(struct deadlines *queue, struct loop *loop,
		    const char *name, uint64_t delay_ms);
/* Those that wait are forgotten, not told. */
void deadlines_release(struct deadlines *queue);

void deadline_init(struct deadline *deadline, deadline_fn *on_due);
/* Starting one that runs moves it, also to another queue. */
void deadline_start(struct deadlines *queue, struct deadline *deadline);
void deadline_stop(struct deadline *deadline);
