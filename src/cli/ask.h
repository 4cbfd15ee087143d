/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask.h - a connection that waits for somebody's word (PROTOCOL.md §5, asks)
 *
 * A guest chooses the name. What comes from the launcher is checked here all
 * the same, because it is drawn on a terminal.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/address.h"
#include "wire/hostname.h"

#define ASKS_MAX 64
#define ASK_TARGET_SIZE (HOSTNAME_MAX + 16)

struct ask {
	uint64_t id;
	char target[ASK_TARGET_SIZE]; /* "example.com:443" */
	char protocol[16];
	int64_t ms_left;
};

enum ask_choice {
	ASK_NONE,   /* not answered */
	ASK_ONCE,   /* this connection */
	ASK_ALWAYS, /* and a rule that allows the next */
	ASK_NEVER,  /* a rule that denies it and the next */
	ASK_DENY,   /* this connection is denied */
};

/* -1: not a question as it must be. */
int ask_decode(const json_t *json, struct ask *ask);
/* At most ASKS_MAX of a list; what is no question is passed over. */
size_t ask_decode_list(const json_t *list, struct ask asks[ASKS_MAX]);
/* The word of `ask-answer`; NULL for ASK_NONE. */
const char *ask_verdict(enum ask_choice choice);
