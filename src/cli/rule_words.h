/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_words.h - rules of the network as they stand on a command line
 *
 *	RULE[,RULE...]    RULE: [METHOD,...] HOST[:PORT][/PATH]
 */
#pragma once

#include <stddef.h>

#include "policy/rule.h"

struct error;

#define RULE_WORDS_MAX 1024

struct rule_words {
	struct policy_rule *rules; /* owned */
	size_t count;
};

#define RULE_WORDS_INIT ((struct rule_words){ NULL, 0 })

/* What holds for each of them; either may be NULL. */
struct rule_words_limits {
	const char *methods; /* "GET,HEAD" */
	const char *path;    /* "/org/" followed by two stars */
};

/* Adds to what words has. Release it also after a failure. */
int rule_words_add(struct rule_words *words, const char *text,
		   enum rule_action action,
		   const struct rule_words_limits *limits, struct error *err);
void rule_words_release(struct rule_words *words);
#define AUTO_RULE_WORDS __attribute__((cleanup(rule_words_release)))
