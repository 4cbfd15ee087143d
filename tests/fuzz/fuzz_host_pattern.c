/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_host_pattern.c - a pattern on the first line, then a name or address
 *
 * What the compiled form says is what the pattern says when it is read label by
 * label; a pattern of names means no address and the other way round.
 */
#include "policy/host_pattern.h"

#include <string.h>

#include "base/own.h"
#include "lib/fuzz.h"
#include "policy/policy.h"
#include "wire/hostname.h"

static bool is_below(const char *name, const char *domain)
{
	size_t len = strlen(name), tail = strlen(domain);

	return len > tail + 1 && name[len - tail - 1] == '.' &&
	       strcmp(name + len - tail, domain) == 0;
}

static bool name_matches(const struct host_pattern *pattern, const char *name)
{
	if (host_pattern_is_localhost(name))
		return pattern->kind == HOST_LOCALHOST;
	switch (pattern->kind) {
	case HOST_EXACT:
		return strcmp(name, pattern->name) == 0;
	case HOST_ONE:
		return is_below(name, pattern->name) &&
		       strcmp(strchr(name, '.') + 1, pattern->name) == 0;
	case HOST_BELOW:
		return is_below(name, pattern->name);
	case HOST_TREE:
		return strcmp(name, pattern->name) == 0 ||
		       is_below(name, pattern->name);
	default:
		return pattern->kind == HOST_ANY;
	}
}

static struct policy *compile(const struct host_pattern *pattern)
{
	char host[HOST_PATTERN_TEXT_SIZE], text[HOST_PATTERN_TEXT_SIZE + 16];
	struct policy_source source = { POLICY_GLOBAL, "text", text, 0 };
	bool brackets;

	host_pattern_format(pattern, host);
	brackets = strchr(host, ':') != NULL;
	source.len = (size_t)snprintf(text, sizeof(text), "%s%s%s:7",
				      brackets ? "[" : "", host,
				      brackets ? "]" : "");
	return policy_compile(&source, 1, NULL);
}

static void check_target(const struct host_pattern *pattern, const char *text,
			 size_t len)
{
	AUTO(policy) struct policy *policy = compile(pattern);
	char name[HOSTNAME_MAX + 1];
	struct address address;
	bool allowed;

	FUZZ_CHECK(policy);
	if (hostname_canonical(text, len, name) > 0) {
		allowed = policy_decide_name(policy, name, 7).answer ==
			  POLICY_ALLOW;
		if (pattern->kind != HOST_ADDRESS)
			FUZZ_CHECK(allowed == name_matches(pattern, name));
		else
			FUZZ_CHECK(!allowed || host_pattern_is_localhost(name));
	}
	if (address_parse(text, len, &address) == 0) {
		allowed = policy_decide_address(policy, &address, 7).answer ==
			  POLICY_ALLOW;
		if (pattern->kind == HOST_ADDRESS && allowed)
			FUZZ_CHECK(cidr_contains(&pattern->range, &address));
		if (pattern->kind < HOST_ADDRESS)
			FUZZ_CHECK(!allowed);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *feed = size ? memchr(data, '\n', size) : NULL;
	char text[HOST_PATTERN_TEXT_SIZE];
	struct host_pattern pattern, again;

	if (!feed ||
	    host_pattern_parse((const char *)data, (size_t)(feed - data),
			       &pattern, NULL) < 0)
		return 0;
	host_pattern_format(&pattern, text);
	FUZZ_CHECK(host_pattern_parse(text, strlen(text), &again, NULL) == 0);
	FUZZ_CHECK(again.kind == pattern.kind);
	FUZZ_CHECK(!pattern.name == !again.name);
	FUZZ_CHECK(!pattern.name || strcmp(pattern.name, again.name) == 0);
	check_target(&pattern, (const char *)feed + 1,
		     size - (size_t)(feed + 1 - data));
	host_pattern_release(&pattern);
	host_pattern_release(&again);
	return 0;
}
