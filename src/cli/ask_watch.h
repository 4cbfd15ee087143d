/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_watch.h - the questions of a running sandbox, as they come and go
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "cli/ask.h"

struct error;
struct sandbox;

struct ask_watch {
	int fd; /* owned; -1 when nobody tells us any more */
	struct buffer in;
	struct ask asks[ASKS_MAX]; /* ms_left is the time that it ends at */
	size_t count;
};

#define ASK_WATCH_INIT ((struct ask_watch){ .fd = -1 })
#define ASK_WATCH_LINE_MAX (256u * 1024)

/* Asks the launcher to tell us; its first answer is read like the others. */
int ask_watch_open(struct ask_watch *watch, const struct sandbox *sandbox,
		   struct error *err);
void ask_watch_close(struct ask_watch *watch);

/* Takes what has come, without waiting; closes it at the end. */
void ask_watch_read(struct ask_watch *watch, int64_t now_ms);
/* One line of the launcher's; -1: it is none that we understand. */
int ask_watch_line(struct ask_watch *watch, const char *line, size_t len,
		   int64_t now_ms);
/* The oldest question that has time left, with how much. */
bool ask_watch_front(const struct ask_watch *watch, int64_t now_ms,
		     struct ask *ask);
void ask_watch_forget(struct ask_watch *watch, uint64_t id);

/* err->code ENOENT: somebody was faster, or the time is over. */
int ask_answer(const struct sandbox *sandbox, uint64_t id,
	       enum ask_choice choice, struct error *err);
