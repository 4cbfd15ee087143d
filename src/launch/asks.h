/* SPDX-License-Identifier: Apache-2.0 */
/*
 * asks.h - connections that wait for somebody's answer
 *
 * bawn-net holds the connection and counts the time; here is the list that
 * clients see. Its numbers are our own, because those of bawn-net begin anew
 * with every process, and an answer must not go to another question.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/authority.h"

struct error;

#define ASKS_MAX 64
#define ASKS_PROTOCOL_SIZE 16

enum ask_verdict {
	ASK_ONCE,   /* these connections */
	ASK_ALWAYS, /* and a rule that allows the target */
	ASK_NEVER,  /* a rule that denies it */
	ASK_DENY,   /* these connections */

	ASK_VERDICTS,
};

struct ask {
	uint32_t id;             /* ours; 0: the place is free */
	json_int_t net_id;       /* bawn-net's */
	struct authority target; /* a name or an address, and a port */
	struct address address;  /* family 0: not known */
	char protocol[ASKS_PROTOCOL_SIZE];
	uint64_t over_ms; /* by loop_now_ms() */
	bool hooked;      /* the user's program was asked */
};

struct asks {
	struct ask items[ASKS_MAX];
	uint32_t last_id;
};

/* -1: no such word. */
int ask_verdict_parse(const char *word, size_t len, enum ask_verdict *verdict);
bool ask_allows(enum ask_verdict verdict);

/*
 * From an `ask` packet of bawn-net, which reads guest bytes: names and
 * addresses that are not in their one spelling are refused.
 */
int ask_parse(const json_t *packet, struct ask *ask, struct error *err);
/* Its place in the list; NULL when that is full. */
struct ask *asks_add(struct asks *asks, const struct ask *ask);
struct ask *asks_find(struct asks *asks, uint32_t id);
struct ask *asks_find_net(struct asks *asks, json_int_t net_id);
bool ask_same_target(const struct ask *a, const struct ask *b);

json_t *ask_json(const struct ask *ask);
json_t *asks_json(const struct asks *asks);

#define ASK_RULE_SIZE (AUTHORITY_TEXT_SIZE + sizeof("allow "))
/* The line for a policy file; only for ASK_ALWAYS and ASK_NEVER. */
void ask_rule(const struct ask *ask, enum ask_verdict verdict,
	      char line[ASK_RULE_SIZE]);
