/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_line.h - the line that shows what goes on, in as many columns as there
 * are
 *
 * Where there is little room, what matters least is left out first: the task
 * (it stands in the log above), then what was blocked if nothing was, the cost,
 * the tokens. What the agent does last takes the room that is left.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define LIVE_LINE_MAX 1024

struct live_facts {
	unsigned iteration, max_iterations;
	double seconds; /* of this iteration */
	uint64_t tokens, cost_micros;
	unsigned denied;
	const char *task, *action; /* printable; "" for none */
};

/* Never wider than columns - 1: a terminal would begin a new line. */
void live_line_make(const struct live_facts *facts, unsigned columns,
		    char out[LIVE_LINE_MAX]);
/* Columns of printable text on a terminal; wide characters take two. */
size_t live_line_width(const char *text);
