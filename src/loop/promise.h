/* SPDX-License-Identifier: Apache-2.0 */
/*
 * promise.h - what an agent's last message promises
 *
 * <promise>COMPLETE</promise>, <promise>BLOCKED:reason</promise>,
 * <promise>DECIDE:question</promise>, <promise>TASK-ID:DONE</promise>. A tag
 * counts where it ends its line, outside code: agents quote the tag while
 * they explain that they cannot give it yet.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define PROMISE_TEXT_MAX 400
#define PROMISE_ID_MAX 64
#define PROMISE_TASKS_MAX 16

enum promise_kind {
	PROMISE_NONE,
	PROMISE_COMPLETE,
	PROMISE_ABORT,   /* the user's own word for giving up */
	PROMISE_BLOCKED, /* text is the reason */
	PROMISE_DECIDE,  /* text is the question */

	PROMISE_KINDS,
};

/* The words of this run; abort and task may be NULL. */
struct promise_words {
	const char *complete, *abort, *task;
};

struct promises {
	enum promise_kind kind;          /* of the last tag that has one */
	char text[PROMISE_TEXT_MAX + 1]; /* printable */
	bool task;                       /* the word of one finished task */
	char done[PROMISE_TASKS_MAX][PROMISE_ID_MAX + 1];
	size_t done_count;
};

/* Pure. len is bounded by the caller. */
void promises_parse(const char *text, size_t len,
		    const struct promise_words *words,
		    struct promises *promises);
/* "complete", "blocked" ...; "" for none. */
const char *promise_name(enum promise_kind kind);
