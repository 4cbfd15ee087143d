/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks.h - the lists of tasks that a loop works through
 *
 * Markdown: "- [ ] text" is open, "- [/]" begun, "- [x]" done; other lines
 * are kept as they are. JSON: a list of objects, or {"tasks": [...]}, with
 * "id", a title and "status", "passes", "done" or "completed". A guest may
 * have written either: all is bounded, and what is not understood in a JSON
 * list refuses the whole, since a task that is passed over would count as
 * done.
 */
#pragma once

#include <stddef.h>

struct buffer;
struct error;

#define TASKS_MAX 1000
#define TASKS_BYTES_MAX ((size_t)256 * 1024)
#define TASK_ID_MAX 64
#define TASK_TITLE_MAX 200

enum task_state {
	TASK_OPEN,
	TASK_BEGUN,
	TASK_DONE,

	TASK_STATES,
};

struct task {
	enum task_state state;
	char id[TASK_ID_MAX + 1];       /* "AUTH-1", or its number */
	char title[TASK_TITLE_MAX + 1]; /* printable; without the id */
};

struct task_list {
	struct task *items; /* owned */
	size_t count;
};

#define TASK_LIST_INIT ((struct task_list){ .items = NULL })
void tasks_release(struct task_list *list);
#define AUTO_TASKS __attribute__((cleanup(tasks_release)))

/* Pure. -1: too many, or too long. */
int tasks_parse_markdown(const char *text, size_t len, struct task_list *list,
			 struct error *err);
int tasks_parse_json(const char *text, size_t len, struct task_list *list,
		     struct error *err);

size_t tasks_open(const struct task_list *list);
size_t tasks_done(const struct task_list *list);
/* The one to do now: one that was begun, else the first open; NULL: none. */
const struct task *tasks_next(const struct task_list *list);
const char *task_state_name(enum task_state state);

/* Markdown in, Markdown out. -1 when there is no such task, or no room. */
int tasks_mark(const char *text, size_t len, const char *id,
	       enum task_state state, struct buffer *out);
int tasks_add(const char *text, size_t len, const char *title,
	      struct buffer *out);
/* By number, from 1; the indented lines below it go too. */
int tasks_remove(const char *text, size_t len, size_t number,
		 struct buffer *out);
