/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_policy.c - a line with what is asked, then policy text
 *
 * Every rule that was taken means the same when it is written down again; what
 * `deny **` is added to denies everything; rules can be added and removed.
 */
#include "policy/policy.h"

#include <string.h>

#include "base/buffer.h"
#include "base/own.h"
#include "lib/fuzz.h"
#include "policy/policy_rules.h"
#include "wire/address.h"
#include "wire/hostname.h"
#include "wire/url_path.h"

#define TEXT_MAX 8192

struct asked {
	char name[HOSTNAME_MAX + 1];
	char path[URL_PATH_MAX + 1];
	struct address address;
	struct policy_request request;
};

static struct policy *compile(const char *text, size_t len)
{
	struct policy_source source = { POLICY_GLOBAL, "text", text, len };

	return policy_compile(&source, 1, NULL);
}

/* HOST PORT METHOD PATH, with the first byte of the port's two as it is. */
static void read_asked(char *line, struct asked *asked)
{
	char *host = strsep(&line, " "), *port = strsep(&line, " ");
	char *method = strsep(&line, " ");

	*asked = (struct asked){ 0 };
	if (address_parse(host, strlen(host), &asked->address) == 0)
		asked->request.address = &asked->address;
	else if (hostname_canonical(host, strlen(host), asked->name) > 0)
		asked->request.name = asked->name;
	else
		asked->request.address = &asked->address;
	asked->request.port = (uint16_t)strtoul(port ? port : "", NULL, 10);
	asked->request.method = method ? method : "GET";
	if (line && url_path_normalise(line, strlen(line), asked->path) > 0)
		asked->request.path = asked->path;
}

static enum policy_answer decide(const struct policy *policy,
				 const struct asked *asked)
{
	const struct policy_request *request = &asked->request;
	struct policy_verdict whole = policy_decide_request(policy, request);
	struct policy_verdict connection;

	if (request->name) {
		connection = policy_decide_name(policy, request->name,
						request->port);
		policy_name_denied_everywhere(policy, request->name);
		policy_name_matched(policy, request->name);
		policy_decide_resolved(policy, request->name, &asked->address,
				       request->port);
	} else {
		connection = policy_decide_address(policy, request->address,
						   request->port);
	}
	/* A connection may not promise what a request is then refused. */
	FUZZ_CHECK(whole.answer != POLICY_BY_REQUEST);
	if (connection.answer != POLICY_BY_REQUEST)
		FUZZ_CHECK(whole.answer == connection.answer);
	FUZZ_CHECK(whole.by_default == !whole.rule);
	return whole.answer;
}

static void check_line(void *ctx, const struct policy_rules_item *item)
{
	struct buffer *copy = ctx;

	FUZZ_CHECK(buffer_printf(copy, "%s %s\n", item->action, item->target) ==
		   0);
}

/* The same rules in their one spelling give the same answer. */
static void check_spelling(const char *text, size_t len, bool allows,
			   const struct asked *asked, enum policy_answer want)
{
	AUTO_BUFFER struct buffer copy = BUFFER_INIT(16 * TEXT_MAX);
	AUTO(policy) struct policy *policy = NULL;

	buffer_printf(&copy, "default %s\n", allows ? "allow" : "deny");
	FUZZ_CHECK(policy_rules_list(text, len, check_line, &copy, NULL) == 0);
	policy = compile(buffer_str(&copy), copy.len);
	FUZZ_CHECK(policy);
	FUZZ_CHECK(decide(policy, asked) == want);
}

static void check_edits(const char *text, size_t len, const struct asked *asked)
{
	AUTO_BUFFER struct buffer copy = BUFFER_INIT(2 * TEXT_MAX);
	AUTO(policy) struct policy *closed = NULL;
	struct policy_facts facts;

	buffer_append(&copy, text, len);
	FUZZ_CHECK(policy_rules_facts(text, len, &facts, NULL) == 0);
	FUZZ_CHECK(policy_rules_set_facts(&copy, &facts, NULL) == 0);
	FUZZ_CHECK(policy_rules_add(&copy, "deny **", NULL) >= 0);
	FUZZ_CHECK(policy_rules_add(&copy, "deny **", NULL) == 0);
	closed = compile(buffer_str(&copy), copy.len);
	FUZZ_CHECK(closed && decide(closed, asked) == POLICY_DENY);
	FUZZ_CHECK(policy_rules_remove(&copy, "deny **", NULL) == 1);
	FUZZ_CHECK(policy_rules_remove(&copy, "deny **", NULL) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *feed = size ? memchr(data, '\n', size) : NULL;
	AUTO(policy) struct policy *policy = NULL;
	const char *text;
	struct asked asked;
	char line[512];
	size_t len;

	if (!feed || (size_t)(feed - data) >= sizeof(line) || size > TEXT_MAX)
		return 0;
	memcpy(line, data, (size_t)(feed - data));
	line[feed - data] = '\0';
	read_asked(line, &asked);
	text = (const char *)feed + 1;
	len = size - (size_t)(feed + 1 - data);
	policy = compile(text, len);
	if (!policy)
		return 0;
	if (policy_rule_count(policy) == 0 && !policy_allows_by_default(policy))
		FUZZ_CHECK(decide(policy, &asked) == POLICY_DENY);
	check_spelling(text, len, policy_allows_by_default(policy), &asked,
		       decide(policy, &asked));
	check_edits(text, len, &asked);
	policy_localhost_ports(policy, NULL, 0);
	return 0;
}
