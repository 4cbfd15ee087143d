/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tool.h - programs of the system and of ours that provisioning runs
 *
 * They get a fixed PATH, a fixed locale and the caller's proxy variables, and
 * nothing else of the environment.
 */
#pragma once

#include "base/child.h"

struct error;

/* Static; NULL-terminated. Not for use by several threads. */
const char *const *tool_env(void);

typedef void tool_tick_fn(void *ctx);

/*
 * Runs argv[0] (a name for child_tool()) with folder_fd as its working folder
 * (-1: this process's). Output is collected in a log that nobody sees unless
 * the tool fails: its last line is then the error. tick (may be NULL) is
 * called about five times a second.
 */
int tool_run(const char *const *argv, int folder_fd, tool_tick_fn *tick,
	     void *ctx, struct error *err);

/* bawn-image JOB: reads in, writes out (both borrowed, out empty). */
int tool_image(const char *job, int in, int out, struct error *err);

/* Waits for a spawned tool, ticking; 0 when it exited with 0. */
int tool_wait(struct child *child, const char *name, int log_fd,
	      tool_tick_fn *tick, void *ctx, struct error *err);
/* The last line of what lies in log_fd that says something, printable. */
void tool_last_line(int log_fd, char *line, size_t size);
