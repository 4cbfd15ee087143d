/* SPDX-License-Identifier: Apache-2.0 */
/*
 * questions.c - who is asked about a connection, and what becomes of the answer
 */
#include "launch/questions.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "launch/policy_append.h"

enum {
	RULE_AGAIN_MS = 20,
	RULE_PATIENCE_MS = 10000,
};

static void reply(struct questions *questions, json_int_t net_id, bool allow)
{
	questions->ops->send(questions->ctx,
			     json_pack("{s:s, s:I, s:s}", "op", "answer", "id",
				       net_id, "verdict",
				       allow ? "allow" : "deny"));
}

static void remove_ask(struct questions *questions, struct ask *ask)
{
	uint32_t id = ask->id;

	*ask = (struct ask){ .id = 0 };
	questions->ops->on_over(questions->ctx, id);
}

/* To the hook, as many as it takes at once. */
static void offer(struct questions *questions)
{
	for (size_t i = 0; i < ASKS_MAX; i++) {
		struct ask *ask = &questions->asks.items[i];
		json_t *question;

		if (!ask->id || ask->hooked)
			continue;
		question = ask_json(ask);
		json_object_set_new(question, "sandbox",
				    json_string(questions->sandbox));
		ask->hooked = hook_ask(&questions->hook, ask->id, question);
		json_decref(question);
		if (!ask->hooked)
			return;
	}
}

void questions_ask(struct questions *questions, const json_t *packet,
		   uint64_t ask_ms)
{
	struct error err = { 0 };
	struct ask ask, *kept;

	if (ask_parse(packet, &ask, &err) < 0) {
		log_limited(LOG_LEVEL_WARN, "bawn-net: %s", err.text);
		return;
	}
	ask.over_ms = loop_now_ms() + ask_ms;
	kept = asks_add(&questions->asks, &ask);
	if (!kept) {
		reply(questions, ask.net_id, false);
		return;
	}
	questions->ops->on_ask(questions->ctx, kept);
	offer(questions);
}

void questions_asked(struct questions *questions, const json_t *packet)
{
	json_int_t id = json_integer_value(json_object_get(packet, "id"));
	struct ask *ask = asks_find_net(&questions->asks, id);

	if (ask)
		remove_ask(questions, ask);
}

void questions_drop(struct questions *questions)
{
	for (size_t i = 0; i < ASKS_MAX; i++) {
		if (questions->asks.items[i].id)
			remove_ask(questions, &questions->asks.items[i]);
	}
}

static int add_rule(struct questions *questions, const char *line,
		    struct error *err)
{
	if (questions->rule_count == QUESTIONS_RULES_MAX)
		return error_say(err, EBUSY, "too many rules at once");
	text_copy(questions->rules[questions->rule_count].line, ASK_RULE_SIZE,
		  line);
	questions->rules[questions->rule_count++].end_ms =
		loop_now_ms() + RULE_PATIENCE_MS;
	timer_start(questions->loop, &questions->rule_timer, 0);
	return 1;
}

int questions_answer(struct questions *questions, uint32_t id,
		     enum ask_verdict verdict, char line[ASK_RULE_SIZE],
		     struct error *err)
{
	struct ask *found = asks_find(&questions->asks, id);
	struct ask target;

	if (!found)
		return error_say(err, ENOENT, "no such question");
	target = *found;
	ask_rule(&target, verdict, line);
	for (size_t i = 0; i < ASKS_MAX; i++) {
		struct ask *ask = &questions->asks.items[i];

		if (!ask->id || !ask_same_target(ask, &target))
			continue;
		reply(questions, ask->net_id, ask_allows(verdict));
		remove_ask(questions, ask);
	}
	if (verdict != ASK_ALWAYS && verdict != ASK_NEVER)
		return 0;
	return add_rule(questions, line, err);
}

/* 0: not now; 1: it is done, one way or the other. */
static int write_rule(struct questions *questions, const char *line,
		      uint64_t end_ms)
{
	struct error err = { 0 };
	bool late = loop_now_ms() >= end_ms;

	if (!questions->ops->may_edit(questions->ctx)) {
		if (!late)
			return 0;
		error_say(&err, EBUSY, "the settings are being changed");
	} else if (policy_append_file(questions->folder, line, &err) == 0) {
		questions->ops->on_rule(questions->ctx, line, NULL);
		return 1;
	} else if (err.code == EWOULDBLOCK && !late) {
		return 0;
	}
	log_warn("rule \"%s\": %s", line, err.text);
	questions->ops->on_rule(questions->ctx, line, err.text);
	return 1;
}

static void on_rule_timer(struct timer *timer)
{
	struct questions *questions =
		CONTAINER_OF(timer, struct questions, rule_timer);

	while (questions->rule_count) {
		char line[ASK_RULE_SIZE];

		text_copy(line, sizeof(line), questions->rules[0].line);
		if (!write_rule(questions, line, questions->rules[0].end_ms)) {
			timer_start(questions->loop, timer, RULE_AGAIN_MS);
			return;
		}
		questions->rule_count--;
		memmove(&questions->rules[0], &questions->rules[1],
			questions->rule_count * sizeof(questions->rules[0]));
	}
}

static void on_hook_answer(void *ctx, uint32_t id, const char *word)
{
	struct questions *questions = ctx;
	char line[ASK_RULE_SIZE];
	enum ask_verdict verdict;

	if (ask_verdict_parse(word, strlen(word), &verdict) == 0 &&
	    questions_answer(questions, id, verdict, line, NULL) >= 0)
		log_info("the hook said %s to %s", word, strchr(line, ' ') + 1);
	offer(questions);
}

int questions_open(struct questions *questions, struct loop *loop,
		   struct error *err)
{
	questions->loop = loop;
	questions->rule_timer =
		(struct timer){ .name = "rule", .on_fire = on_rule_timer };
	questions->hook.on_answer = on_hook_answer;
	questions->hook.ctx = questions;
	return hook_watch(&questions->hook, loop, err);
}

void questions_close(struct questions *questions)
{
	timer_stop(&questions->rule_timer);
	/* The last chance for what somebody has decided. */
	for (size_t i = 0; i < questions->rule_count; i++)
		(void)policy_append_file(questions->folder,
					 questions->rules[i].line, NULL);
	hook_close(&questions->hook);
}
