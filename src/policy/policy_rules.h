/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_rules.h - files of rules as people keep them: add, remove, list
 *
 * What is not asked for stays as it is: comments, order, blank lines, also a
 * line that is no rule. Pure; a text is a buffer, which is replaced.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "policy/policy_file.h"

struct buffer;
struct error;

/*
 * A rule as it is typed, "GET,HEAD github.com/org/x" or "deny x.com", to the
 * line of a file; at least POLICY_RULE_TEXT_SIZE bytes hold it. action: what a
 * rule without a word for it does: "allow", "deny", "bypass" or "inspect".
 */
int policy_rules_line(const char *action, const char *text, size_t len,
		      char *out, size_t size, struct error *err);
/*
 * The next rule of a list with commas in it, which may also stand between
 * methods: "GET,HEAD a.com,b.com" is two. Moves *list behind it; 0 at the end.
 */
size_t policy_rules_next(const char **list, const char **rule);

/*
 * Adds a line of policy_rules_line(). What allowed, denied or bypassed the same
 * target changes in its place: two verdicts on it would make no sense.
 * 1, or 0 when it was there, or -1.
 */
int policy_rules_add(struct buffer *text, const char *line, struct error *err);
/* A rule as it is typed; without a word for it, whatever it does. How many. */
int policy_rules_remove(struct buffer *text, const char *rule,
			struct error *err);

/* What a file says beside its rules. */
struct policy_facts {
	bool has_default, allow;
	char preset[POLICY_PRESET_NAME_MAX + 1]; /* "": none */
};

int policy_rules_facts(const char *text, size_t len, struct policy_facts *facts,
		       struct error *err);
/* Makes a file say so and nothing else. 1, or 0 when it does, or -1. */
int policy_rules_set_facts(struct buffer *text,
			   const struct policy_facts *facts, struct error *err);

struct policy_rules_item {
	unsigned line;
	const char *action; /* "allow" ... */
	const char *target; /* the rest, in its one form */
};
typedef void policy_rules_fn(void *ctx, const struct policy_rules_item *item);

/* Each rule, in order. -1 and err with the line at the first that is none. */
int policy_rules_list(const char *text, size_t len, policy_rules_fn *fn,
		      void *ctx, struct error *err);
