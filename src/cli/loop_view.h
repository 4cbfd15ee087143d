/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_view.h - how a loop is watched: lines, a line that lives, or JSON
 *
 * Lines of what happened go to stdout in every form; on a terminal one more
 * line below them says what goes on. All that the guest chose is printable
 * already when it comes here.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct output;
struct run_state;

struct loop_view {
	bool json, live;
	size_t drawn;   /* columns of the line on the screen; 0: none */
	char name[128]; /* of the sandbox */
	unsigned iteration, max_iterations;
	char task[120];
	double begun;
};

void loop_view_init(struct loop_view *view, bool json);
void loop_view_event(struct loop_view *view, const char *name,
		     const json_t *details);
/* About once a second while the agent works. */
void loop_view_tick(struct loop_view *view, const struct run_state *state,
		    const struct output *output, unsigned denied);
/* Likewise while the loop waits; nothing of an agent is shown then. */
void loop_view_wait(struct loop_view *view, uint64_t seconds_left,
		    const char *why);
/* Takes the line away. */
void loop_view_clear(struct loop_view *view);
