/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_attempts.h - several loops at once from one state, of which one is kept
 *
 * A sandbox whose workspace is its own (overlay or clone) is forked; each fork
 * has a loop of its own in a process of its own. The one whose check passes
 * with the smallest change stays.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct error;
struct loop_options;
struct loop_run;
struct sandbox;

#define LOOP_ATTEMPTS_MAX 16

/* The exit code, as of a loop. */
int loop_attempts(struct loop_options *wish, const char *name,
		  struct error *err);

/* loop_judge.c: how many lines a sandbox changed in its workspace. */
int loop_judge_lines(struct loop_run *run, size_t *lines, struct error *err);

/* cmd_loop.c: one loop in its sandbox; attempt is its number, or 0. */
int loop_start(struct loop_options *wish, const char *name, unsigned attempt,
	       struct error *err);
/* The sandbox, as `create` makes it, and started. */
int loop_make_sandbox(const struct loop_options *wish, const char *name,
		      struct loop_run *run, bool *ran_before,
		      struct error *err);
