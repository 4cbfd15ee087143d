/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decision.h - what policy said about a target or request, kept for the log
 *
 * A verdict points into its policy, which a change replaces while connections
 * go on: the rule's text is copied.
 */
#pragma once

#include "policy/policy.h"

struct target;

struct decision {
	enum policy_answer answer;
	bool by_default, guarded, names_port, exact_host, bypass, inspect;
	bool approved; /* a person said yes to what the default denies */
	enum policy_scope scope;
	char *rule; /* owned; NULL: no rule said so */
};

/* Takes the place of what was in *out. */
void decision_of_target(const struct policy *policy,
			const struct target *target, struct decision *out);
/* path: as policy_request has it. */
void decision_of_request(const struct policy *policy,
			 const struct target *target, const char *method,
			 const char *path, struct decision *out);
void decision_release(struct decision *decision);
/* Denied, but only because no rule says anything: a person may be asked. */
bool decision_may_be_asked(const struct decision *decision);
/* Why it is denied, for the log (static). */
const char *decision_reason(const struct decision *decision);
