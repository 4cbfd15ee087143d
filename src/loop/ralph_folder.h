/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ralph_folder.h - the files of a loop in the workspace
 *
 * .ralph/ is what people and agents see and may write: a view. The guest can
 * put anything there at any time, so that no link is followed, only regular
 * files are read, each to a bound, and nothing that decides is kept in it.
 */
#pragma once

#include <stddef.h>

struct buffer;
struct error;

#define RALPH_FOLDER ".ralph"
#define RALPH_STATE "ralph-loop.state.json"
#define RALPH_HISTORY "ralph-history.json"
#define RALPH_CONTEXT "ralph-context.md"
#define RALPH_TASKS "ralph-tasks.md"
#define RALPH_CONTEXT_MAX ((size_t)64 * 1024)

/* The workspace; for the calls below. */
int ralph_workspace_open(const char *path, struct error *err);
/* The folder in it, made if missing. */
int ralph_folder_open(int workspace, struct error *err);

/* 1 and the bytes, 0 when there is none; a path below the workspace. */
int ralph_read(int workspace, const char *path, struct buffer *out,
	       struct error *err);
/* In one step; the file belongs to whom the workspace belongs. */
int ralph_write(int workspace, const char *name, const void *bytes, size_t len,
		struct error *err);
/* Adds a line; safe beside ralph_take(). */
int ralph_add_context(int workspace, const char *text, struct error *err);
/* Takes all that was added so far away; 1 when there was something. */
int ralph_take_context(int workspace, struct buffer *out, struct error *err);
int ralph_clear_context(int workspace, struct error *err);
