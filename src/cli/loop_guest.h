/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_guest.h - a loop's files where the workspace is the guest's own
 *
 * In overlay and clone mode the agent writes to the guest's disk: its tasks,
 * what it says to itself, and what it changed are asked for by small scripts in
 * sessions. Their answers are the guest's word, bounded, and decide no more
 * than the files of a workspace that is shared would.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct buffer;
struct error;
struct loop_run;
struct sandbox_record;
struct task_list;

/* Whether these are to be used, and not the host's folder. */
bool loop_guest_owns_workspace(const struct sandbox_record *record);

/* Before the first iteration. A clone gets the host's tasks if it has none. */
int loop_guest_begin(struct loop_run *run, struct error *err);
/* The list; run->tasks_file gets the name of its file. */
int loop_guest_tasks(struct loop_run *run, struct task_list *list,
		     struct error *err);
/* In Markdown only. */
int loop_guest_task_done(struct loop_run *run, const char *id,
			 struct error *err);
/* What was added by programs of the guest; it is taken away there. */
int loop_guest_context(struct loop_run *run, struct buffer *out,
		       struct error *err);
/*
 * Files that changed since the last call, into the record's "files". True when
 * there are some.
 */
bool loop_guest_files(struct loop_run *run, json_t *record);
/* Lines that a clone differs by from what it was made of; for attempts. */
int loop_guest_diff_lines(struct loop_run *run, size_t *lines,
			  struct error *err);
