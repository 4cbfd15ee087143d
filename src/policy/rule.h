/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h - one rule: what it means, from text and to text
 *
 *	[allow|deny|bypass|inspect] [METHOD,...] HOST[:PORT|:LOW-HIGH][/PATH]
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/host_pattern.h"
#include "policy/policy.h"

enum rule_action {
	RULE_ALLOW,
	RULE_DENY,
	RULE_BYPASS,  /* allow, and never look inside */
	RULE_INSPECT, /* look inside; no verdict */

	RULE_ACTIONS,
};

struct policy_rule {
	enum rule_action action;
	enum policy_scope scope;
	const char *source; /* borrowed from the policy */
	unsigned line;
	struct host_pattern host;
	bool has_port;
	uint16_t low, high; /* both 0 when there is no port */
	uint32_t methods;   /* METHODS_ALL when there are none */
	char *path;         /* owned; NULL: every path */
};

/*
 * action: what a rule without one of its own means. The rule's source, scope
 * and line are left 0. On error there is nothing to release.
 */
int rule_parse(const char *text, size_t len, enum rule_action action,
	       struct policy_rule *rule, struct error *err);
void rule_release(struct policy_rule *rule);
/* Depends on the request: on its method or its path. */
bool rule_is_conditional(const struct policy_rule *rule);
/* The same but for what they do; source and line do not count. */
bool rule_same_target(const struct policy_rule *a, const struct policy_rule *b);
const char *rule_action_name(enum rule_action action);
/* -1: not the name of one. */
int rule_action_parse(const char *text, size_t len, enum rule_action *action);
/* Without the action; at least POLICY_RULE_TEXT_SIZE bytes hold any rule. */
void rule_format_target(const struct policy_rule *rule, char *out, size_t size);
