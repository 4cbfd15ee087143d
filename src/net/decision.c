/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decision.c - what policy said about a target or request, kept for the log
 */
#include "net/decision.h"

#include <stdlib.h>

#include "base/mem.h"
#include "net/target.h"

static void keep(const struct policy_verdict *verdict, struct decision *out)
{
	bool approved = out->approved;
	char text[POLICY_RULE_TEXT_SIZE];

	free(out->rule);
	*out = (struct decision){
		.answer = verdict->answer,
		.by_default = verdict->by_default,
		.guarded = verdict->guarded,
		.names_port = verdict->names_port,
		.exact_host = verdict->exact_host,
		.bypass = verdict->bypass,
		.inspect = verdict->inspect,
		.approved = approved,
	};
	if (verdict->rule) {
		policy_rule_text(verdict->rule, text, sizeof(text));
		out->rule = xstrdup(text);
		out->scope = policy_rule_scope(verdict->rule);
	}
	/* The person saw this name and port, and said yes to them alone. */
	if (approved && decision_may_be_asked(out)) {
		out->answer = POLICY_ALLOW;
		out->names_port = out->exact_host = true;
	}
}

void decision_of_target(const struct policy *policy,
			const struct target *target, struct decision *out)
{
	struct policy_verdict verdict =
		target->name
			? policy_decide_name(policy, target->name, target->port)
			: policy_decide_address(policy, &target->address,
						target->port);

	keep(&verdict, out);
}

void decision_of_request(const struct policy *policy,
			 const struct target *target, const char *method,
			 const char *path, struct decision *out)
{
	const struct policy_request request = {
		.name = target->name,
		.address = target->name ? NULL : &target->address,
		.port = target->port,
		.method = method,
		.path = path,
	};
	struct policy_verdict verdict = policy_decide_request(policy, &request);

	keep(&verdict, out);
}

void decision_release(struct decision *decision)
{
	free(decision->rule);
	*decision = (struct decision){ 0 };
}

bool decision_may_be_asked(const struct decision *decision)
{
	return decision->answer == POLICY_DENY && decision->by_default &&
	       !decision->guarded;
}

const char *decision_reason(const struct decision *decision)
{
	if (decision->guarded)
		return "private address";
	if (decision->by_default)
		return "no rule allows it";
	return "a rule denies it";
}
