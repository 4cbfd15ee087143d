/* SPDX-License-Identifier: Apache-2.0 */
/*
 * questions.h - who is asked about a connection, and what becomes of the answer
 *
 * A question of bawn-net goes to the hook and to every client that watches; the
 * first answer counts, for all connections with the same target. `always` and
 * `never` also become a rule in the sandbox's policy file, as soon as nobody
 * else edits that.
 */
#pragma once

#include "launch/asks.h"
#include "launch/hook.h"

#define QUESTIONS_RULES_MAX 16

struct questions_ops {
	/* To bawn-net; takes the reference. */
	void (*send)(void *ctx, json_t *packet);
	/* False: the settings are changed just now, no rule can be added. */
	bool (*may_edit)(void *ctx);
	/* The rule is in the file; or why is set. */
	void (*on_rule)(void *ctx, const char *line, const char *why);
	void (*on_ask)(void *ctx, const struct ask *ask);
	void (*on_over)(void *ctx, uint32_t id);
};

struct questions {
	struct asks asks;
	struct hook hook;
	const struct questions_ops *ops;
	void *ctx;
	const char *sandbox; /* borrowed: its name */
	int folder;          /* borrowed: the sandbox's */
	struct loop *loop;   /* borrowed */

	/* private */
	struct timer rule_timer;
	struct {
		char line[ASK_RULE_SIZE];
		uint64_t end_ms;
	} rules[QUESTIONS_RULES_MAX];
	size_t rule_count;
};

/* After hook_start(), which comes before any isolation. */
int questions_open(struct questions *questions, struct loop *loop,
		   struct error *err);
/* Packets of bawn-net. */
void questions_ask(struct questions *questions, const json_t *packet,
		   uint64_t ask_ms);
void questions_asked(struct questions *questions, const json_t *packet);
/* bawn-net has gone, and with it every connection. */
void questions_drop(struct questions *questions);
/*
 * 0, or 1 when a rule is being written: on_rule() tells the end, with this
 * line. -1 with err->code ENOENT when there is no such question.
 */
int questions_answer(struct questions *questions, uint32_t id,
		     enum ask_verdict verdict, char line[ASK_RULE_SIZE],
		     struct error *err);
void questions_close(struct questions *questions);
