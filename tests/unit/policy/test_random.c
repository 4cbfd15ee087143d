/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_random.c - the compiled form against a matcher that tries every rule
 *
 * The matcher is as plain as it can be and shares nothing with the library but
 * the table of guarded addresses.
 */
#include <ctype.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "lib/policy_random.h"
#include "lib/tap.h"
#include "policy/policy.h"

#define RULES_MAX 2000

static struct random_rule rules[RULES_MAX];
static size_t rule_count;
static bool default_allow;

/* What is asked: a connection, or a request on it. */
static const struct random_target *target;
static bool is_request;

static bool name_matches(const struct random_rule *rule, const char *name)
{
	size_t len = strlen(name), tail = strlen(rule->name);
	bool same = strcmp(name, rule->name) == 0;
	bool below = len > tail + 1 &&
		     strcmp(name + len - tail, rule->name) == 0 &&
		     name[len - tail - 1] == '.';

	switch (rule->host) {
	case RANDOM_EXACT:
		return same;
	case RANDOM_ONE:
		return below && strchr(name, '.') == name + len - tail - 1;
	case RANDOM_BELOW:
		return below;
	case RANDOM_TREE:
		return same || below;
	default:
		return rule->host == RANDOM_ANY;
	}
}

static bool is_localhost(const char *name)
{
	return !strcmp(name, "localhost") ||
	       !strcmp(name, "host.docker.internal") ||
	       !strcmp(name, "gateway.docker.internal");
}

static struct address loopback(int family)
{
	struct address v4 = { ADDRESS_V4, { 127, 0, 0, 1 } };
	struct address v6 = { ADDRESS_V6, { [15] = 1 } };

	return family == ADDRESS_V4 ? v4 : v6;
}

static bool address_matches(const struct random_rule *rule,
			    const struct address *address)
{
	struct address own = loopback(address->family);

	if (rule->host == RANDOM_LOCALHOST)
		return address_equal(address, &own);
	if (rule->host == RANDOM_ANY)
		return rule->action == RANDOM_DENY;
	return rule->host > RANDOM_ANY && cidr_contains(&rule->range, address);
}

static bool port_matches(const struct random_rule *rule, uint16_t port)
{
	if (rule->has_port)
		return port >= rule->low && port <= rule->high;
	if (rule->action == RANDOM_DENY || rule->host > RANDOM_ANY)
		return true;
	return port == 80 || port == 443;
}

/* The address that rules for addresses are asked about; false: a name. */
static bool literal(struct address *address)
{
	*address = target->address;
	if (!target->is_name)
		return true;
	*address = loopback(ADDRESS_V4);
	return is_localhost(target->name);
}

static bool is_guarded(void)
{
	struct address address;

	return literal(&address) && address_is_guarded(&address);
}

static bool opens(const struct random_rule *rule)
{
	return rule->host == RANDOM_LOCALHOST || rule->host == RANDOM_V4 ||
	       rule->host == RANDOM_V6 ||
	       rule->range.bits ==
		       (rule->range.base.family == ADDRESS_V4 ? 32 : 128) ||
	       cidr_is_guarded(&rule->range);
}

static bool host_matches(const struct random_rule *rule)
{
	struct address address;

	if (!literal(&address))
		return rule->host <= RANDOM_ANY &&
		       name_matches(rule, target->name);
	if (!address_matches(rule, &address))
		return false;
	if (rule->action == RANDOM_ALLOW || rule->action == RANDOM_BYPASS)
		return !address_is_guarded(&address) || opens(rule);
	return true;
}

/* Segment by segment, with every choice tried. */
static bool segment_matches(const char *glob, const char *text, size_t left)
{
	for (; *glob && *glob != '/'; glob++, text++, left--) {
		if (*glob == '*') {
			for (size_t skip = 0; skip <= left; skip++) {
				if (segment_matches(glob + 1, text + skip,
						    left - skip))
					return true;
			}
			return false;
		}
		if (left == 0 || *glob != *text)
			return false;
	}
	return left == 0;
}

/* Both begin behind a slash, or are NULL at the end. */
static bool path_matches(const char *glob, const char *path)
{
	const char *more, *rest;
	size_t len;

	if (!glob)
		return !path;
	more = strchr(glob, '/');
	len = more ? (size_t)(more - glob) : strlen(glob);
	more = more ? more + 1 : NULL;
	if (len == 2 && !strncmp(glob, "**", 2)) {
		if (path_matches(more, path))
			return true;
		if (!path)
			return false;
		rest = strchr(path, '/');
		return path_matches(glob, rest ? rest + 1 : NULL);
	}
	if (!path)
		return false;
	rest = strchr(path, '/');
	if (!segment_matches(glob, path,
			     rest ? (size_t)(rest - path) : strlen(path)))
		return false;
	return path_matches(more, rest ? rest + 1 : NULL);
}

/* Lower case, and no empty segment. */
static void loosen(const char *path, char *out)
{
	for (; *path; path++) {
		if (*path == '/' && (path[1] == '/' || !path[1]))
			continue;
		*out++ = (char)tolower((unsigned char)*path);
	}
	*out = '\0';
}

static bool is_every_path(const char *path)
{
	while (!strncmp(path, "/**", 3))
		path += 3;
	return !*path;
}

static bool rule_path_matches(const struct random_rule *rule)
{
	char glob[256], path[256];

	if (!*rule->path)
		return true;
	if (!target->has_path)
		return rule->action == RANDOM_DENY || is_every_path(rule->path);
	if (rule->action != RANDOM_DENY)
		return path_matches(rule->path + 1, target->path + 1);
	loosen(rule->path, glob);
	loosen(target->path, path);
	return path_matches(*glob ? glob + 1 : NULL, *path ? path + 1 : NULL);
}

static bool is_conditional(const struct random_rule *rule)
{
	return rule->methods || !is_every_path(rule->path);
}

static bool request_matches(const struct random_rule *rule)
{
	if (rule->methods && target->method_bit == 0 &&
	    strcmp(target->method, "DELETE") != 0 &&
	    rule->action != RANDOM_DENY)
		return false; /* `post` */
	if (rule->methods && !strcmp(target->method, "DELETE"))
		return false;
	if (rule->methods && target->method_bit &&
	    !(rule->methods & target->method_bit))
		return false;
	return rule_path_matches(rule);
}

static bool is_exact(const struct random_rule *rule)
{
	if (rule->host == RANDOM_EXACT || rule->host == RANDOM_LOCALHOST)
		return true;
	if (rule->host == RANDOM_TREE)
		return !strcmp(rule->name, target->name);
	return rule->host > RANDOM_ANY &&
	       rule->range.bits ==
		       (rule->range.base.family == ADDRESS_V4 ? 32 : 128);
}

struct expected {
	enum policy_answer answer;
	bool by_default, bypass, inspect, names_port, exact_host;
	int rule; /* -1: none */
};

/* What all rules say, with and without a condition. */
struct said {
	int deny, deny_if, allow, allow_if;
	bool bypass, inspect, names_port, exact, exact_if;
};

static void listen_to(const struct random_rule *rule, int number,
		      struct said *said)
{
	bool conditional = is_conditional(rule);
	bool allows =
		rule->action == RANDOM_ALLOW || rule->action == RANDOM_BYPASS;
	int *slot;

	if (!host_matches(rule) || !port_matches(rule, target->port))
		return;
	if (is_request && conditional && !request_matches(rule))
		return;
	said->bypass |= rule->action == RANDOM_BYPASS;
	said->inspect |= rule->action == RANDOM_INSPECT;
	if (rule->action == RANDOM_INSPECT)
		return;
	if (allows)
		slot = conditional ? &said->allow_if : &said->allow;
	else
		slot = conditional ? &said->deny_if : &said->deny;
	if (*slot < 0)
		*slot = number;
	if (allows && !conditional) {
		said->names_port |= rule->has_port;
		said->exact |= is_exact(rule);
	} else if (allows) {
		said->exact_if |= is_exact(rule);
	}
}

static struct expected expect(void)
{
	struct said said = { -1, -1, -1, -1, 0, 0, 0, 0, 0 };
	struct expected want = { .rule = -1 };
	bool otherwise = default_allow && !is_guarded();

	for (size_t i = 0; i < rule_count; i++)
		listen_to(&rules[i], (int)i, &said);
	if (is_request && said.deny < 0)
		said.deny = said.deny_if;
	if (said.deny >= 0) {
		want.rule = said.deny;
		return want;
	}
	want.answer = POLICY_ALLOW;
	want.exact_host = said.exact;
	if (is_request) {
		if (said.allow < 0)
			said.allow = said.allow_if;
		want.exact_host |= said.exact_if;
	}
	if (said.allow >= 0) {
		want.rule = said.allow;
	} else if (said.allow_if >= 0 && !otherwise) {
		want.rule = said.allow_if;
		want.answer = POLICY_BY_REQUEST;
		want.exact_host = said.exact_if;
	} else {
		want.by_default = true;
		want.exact_host = false;
		if (!otherwise)
			return (struct expected){ .by_default = true,
						  .rule = -1 };
	}
	if (!is_request && said.deny_if >= 0 && want.answer == POLICY_ALLOW) {
		want.answer = POLICY_BY_REQUEST;
		want.exact_host |= said.exact_if;
	}
	want.bypass = said.bypass;
	want.inspect = said.inspect && !said.bypass;
	if (want.rule >= 0)
		want.names_port = said.names_port || rules[want.rule].has_port;
	return want;
}

static bool agrees(const struct policy_verdict *got,
		   const struct expected *want)
{
	int rule = got->rule ? (int)policy_rule_line(got->rule) - 2 : -1;

	return got->answer == want->answer && rule == want->rule &&
	       got->by_default == want->by_default &&
	       got->bypass == want->bypass && got->inspect == want->inspect &&
	       got->names_port == want->names_port &&
	       got->exact_host == want->exact_host;
}

static struct policy_verdict ask(const struct policy *policy)
{
	struct policy_request request = {
		.name = target->is_name ? target->name : NULL,
		.address = target->is_name ? NULL : &target->address,
		.port = target->port,
		.method = target->method,
		.path = target->has_path ? target->path : NULL,
	};

	if (is_request)
		return policy_decide_request(policy, &request);
	if (target->is_name)
		return policy_decide_name(policy, target->name, target->port);
	return policy_decide_address(policy, &target->address, target->port);
}

static void complain(const struct policy_verdict *got,
		     const struct expected *want)
{
	char address[ADDRESS_TEXT_SIZE] = "";

	address_format(&target->address, address);
	printf("# %s %s:%u %s\n", is_request ? target->method : "connect",
	       target->is_name ? target->name : address, target->port,
	       target->has_path ? target->path : "(no path)");
	printf("# got answer %d line %d default %d bypass %d inspect %d port %d"
	       " exact %d\n",
	       got->answer, got->rule ? (int)policy_rule_line(got->rule) : 0,
	       got->by_default, got->bypass, got->inspect, got->names_port,
	       got->exact_host);
	printf("# want answer %d line %d default %d bypass %d inspect %d port "
	       "%d exact %d\n",
	       want->answer, want->rule + 2, want->by_default, want->bypass,
	       want->inspect, want->names_port, want->exact_host);
	if (got->rule)
		printf("# got: %s\n",
		       rules[policy_rule_line(got->rule) - 2].text);
	if (want->rule >= 0)
		printf("# want: %s\n", rules[want->rule].text);
}

static bool check_target(const struct policy *policy)
{
	for (int i = 0; i < 2; i++) {
		struct policy_verdict got;
		struct expected want;

		is_request = i == 1;
		got = ask(policy);
		want = expect();
		if (!agrees(&got, &want)) {
			complain(&got, &want);
			return false;
		}
	}
	return true;
}

static struct policy *make_policy(struct random_source *source, size_t count)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(4u << 20);
	struct policy_source one = { POLICY_SANDBOX, "random", NULL, 0 };
	struct policy *policy;
	struct error err;

	rule_count = count;
	default_allow = random_below(source, 2);
	buffer_printf(&text, "default %s\n", default_allow ? "allow" : "deny");
	for (size_t i = 0; i < count; i++) {
		random_make_rule(source, &rules[i]);
		buffer_printf(&text, "%s\n", rules[i].text);
	}
	one.text = buffer_str(&text);
	one.len = text.len;
	policy = policy_compile(&one, 1, &err);
	if (!policy)
		printf("# %s\n", err.text);
	CHECK(policy);
	return policy;
}

static unsigned answers[3];

static void check_policy(struct random_source *source, size_t count,
			 unsigned targets)
{
	AUTO(policy) struct policy *policy = make_policy(source, count);

	REQUIRE(policy);
	for (unsigned i = 0; i < targets; i++) {
		unsigned near = random_below(source, (unsigned)count);
		struct random_target one;

		random_make_target(source, &rules[near], &one);
		target = &one;
		REQUIRE(check_target(policy));
		answers[ask(policy).answer]++;
	}
}

static void check_policies(const struct random_shape *shape, unsigned policies,
			   size_t count, unsigned targets)
{
	struct random_source source = { 1, *shape };

	memset(answers, 0, sizeof(answers));
	for (unsigned i = 0; i < policies && !tap_test_bad; i++)
		check_policy(&source, count, targets);
	/* Nothing is shown by targets that are all treated alike. */
	CHECK(answers[POLICY_DENY] > policies * targets / 10);
	CHECK(answers[POLICY_ALLOW] > policies * targets / 10);
}

static void few_rules_close_together(void)
{
	struct random_shape shape = { .labels = 2,
				      .name_depth = 3,
				      .segments = 2,
				      .path_depth = 3,
				      .wild = 60,
				      .ports = 3,
				      .networks = 1,
				      .min_bits = 1,
				      .closable = true };

	check_policies(&shape, 4000, 12, 30);
}

static void rules_about_the_same_hosts(void)
{
	struct random_shape shape = { .labels = 1,
				      .name_depth = 2,
				      .segments = 3,
				      .path_depth = 5,
				      .wild = 60,
				      .ports = 20,
				      .networks = 1,
				      .min_bits = 20 };

	check_policies(&shape, 200, 150, 40);
}

static void many_rules_of_all_kinds(void)
{
	struct random_shape shape = { .labels = 12,
				      .name_depth = 5,
				      .segments = 12,
				      .path_depth = 4,
				      .wild = 60,
				      .ports = 500,
				      .networks = 30,
				      .min_bits = 12 };

	check_policies(&shape, 6, RULES_MAX, 300);
}

int main(void)
{
	RUN(few_rules_close_together);
	RUN(rules_about_the_same_hosts);
	RUN(many_rules_of_all_kinds);
	return DONE();
}
