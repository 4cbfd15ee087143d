/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verdict_text.c - what is asked and what is said, as words of a table
 */
#include "verdict_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/policy.h"
#include "wire/address.h"

struct asked {
	char method[32], path[256], host[300];
	const char *name; /* or NULL */
	bool has_address;
	struct address address;
	uint16_t port;
};

static bool take_address(const char *text, size_t len, struct asked *asked)
{
	if (len > 1 && text[0] == '[' && text[len - 1] == ']') {
		text++;
		len -= 2;
	}
	asked->has_address = address_parse(text, len, &asked->address) == 0;
	return asked->has_address;
}

static void read_host(struct asked *asked)
{
	char *colon = strrchr(asked->host, ':'), *to;
	uint64_t port = 0;

	if (!colon || text_to_u64(colon + 1, 0, UINT16_MAX, &port) < 0)
		abort();
	*colon = '\0';
	asked->port = (uint16_t)port;
	to = strchr(asked->host, '>');
	if (to) {
		*to = '\0';
		if (!take_address(to + 1, strlen(to + 1), asked))
			abort();
	}
	if (to || !take_address(asked->host, strlen(asked->host), asked))
		asked->name = asked->host;
}

static struct policy_verdict decide(const struct policy *policy,
				    const char *text)
{
	struct asked asked = { 0 };
	struct policy_request request = { 0 };

	if (sscanf(text, "%31s %299s %255s", asked.method, asked.host,
		   asked.path) < 3) {
		(void)text_copy(asked.host, sizeof(asked.host), text);
		asked.method[0] = '\0';
	}
	read_host(&asked);
	request.name = asked.name;
	request.address = asked.has_address ? &asked.address : NULL;
	request.port = asked.port;
	request.method = asked.method;
	request.path = strcmp(asked.path, "-") == 0 ? NULL : asked.path;
	if (asked.method[0])
		return policy_decide_request(policy, &request);
	if (asked.name && asked.has_address)
		return policy_decide_resolved(policy, asked.name,
					      &asked.address, asked.port);
	if (asked.name)
		return policy_decide_name(policy, asked.name, asked.port);
	return policy_decide_address(policy, &asked.address, asked.port);
}

void verdict_text(const struct policy *policy, const char *asked, char *out,
		  size_t size)
{
	static const char *const answers[] = { "deny", "allow", "ask" };
	struct policy_verdict verdict = decide(policy, asked);
	char rule[16] = "";

	if (verdict.rule)
		(void)text_format(rule, sizeof(rule), "#%u",
				  policy_rule_line(verdict.rule));
	(void)text_format(out, size, "%s%s%s%s%s%s%s%s",
			  answers[verdict.answer], rule,
			  verdict.by_default ? " default" : "",
			  verdict.guarded ? " guarded" : "",
			  verdict.bypass ? " bypass" : "",
			  verdict.inspect ? " inspect" : "",
			  verdict.names_port ? " port" : "",
			  verdict.exact_host ? " exact" : "");
}

struct policy *verdict_compile(const char *rules)
{
	struct policy_source source = { POLICY_SANDBOX, "rules", rules,
					strlen(rules) };
	struct error err;
	struct policy *policy = policy_compile(&source, 1, &err);

	if (!policy)
		printf("# %s: %s\n", rules, err.text);
	return policy;
}

static bool is_as_wanted(const struct verdict_row *row,
			 const struct address *own)
{
	AUTO(policy) struct policy *policy = verdict_compile(row->rules);
	char got[128] = "no verdict";

	if (policy) {
		policy_guard(policy, own, own ? 1 : 0);
		verdict_text(policy, row->asked, got, sizeof(got));
	}
	if (strcmp(got, row->want) == 0)
		return true;
	printf("# \"%s\", %s: %s, not %s (%s)\n", row->rules, row->asked, got,
	       row->want, row->why);
	return false;
}

unsigned verdict_rows_check(const struct verdict_row *rows, size_t count,
			    const struct address *own)
{
	unsigned wrong = 0;

	for (size_t i = 0; i < count; i++)
		wrong += !is_as_wanted(&rows[i], own);
	return wrong;
}
