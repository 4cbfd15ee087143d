/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_sources.c - sources and their errors, and what is known about a policy
 */
#include "policy/policy.h"

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"
#include "verdict_text.h"

static void scopes_are_kept(void)
{
	static const struct policy_source sources[] = {
		{ POLICY_PRESET, "balanced", "default allow\nx.com\n", 20 },
		{ POLICY_GLOBAL, "config", "\n\ndeny y.com\n", 13 },
		{ POLICY_SANDBOX, "command line", "default deny\n", 13 },
		{ POLICY_AGENT, "claude", "z.com", 5 },
		{ POLICY_ONCE, "approval", "w.com:22", 8 },
	};
	AUTO(policy)
	struct policy *policy =
		policy_compile(sources, ARRAY_SIZE(sources), NULL);
	static const struct {
		const char *name, *source, *scope;
		uint16_t port;
		unsigned line;
	} rules[] = {
		{ "x.com", "balanced", "preset", 443, 2 },
		{ "y.com", "config", "global", 443, 3 },
		{ "z.com", "claude", "agent", 443, 1 },
		{ "w.com", "approval", "once", 22, 1 },
	};

	REQUIRE(policy);
	CHECK(policy_rule_count(policy) == 4);
	CHECK(!policy_allows_by_default(policy));
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++) {
		const struct policy_rule *rule =
			policy_decide_name(policy, rules[i].name, rules[i].port)
				.rule;

		REQUIRE(rule);
		CHECK(!strcmp(policy_rule_source(rule), rules[i].source));
		CHECK(!strcmp(policy_scope_name(policy_rule_scope(rule)),
			      rules[i].scope));
		CHECK(policy_rule_line(rule) == rules[i].line);
	}
}

static bool default_of(const struct policy_source *sources, size_t count)
{
	AUTO(policy)
	struct policy *policy = policy_compile(sources, count, NULL);

	CHECK(policy);
	return policy && policy_allows_by_default(policy);
}

static void the_narrowest_default_counts(void)
{
	struct policy_source sources[] = {
		{ POLICY_SANDBOX, "s", "default allow", 13 },
		{ POLICY_PRESET, "p", "default deny", 12 },
		{ POLICY_GLOBAL, "g", "default deny", 12 },
	};

	CHECK(default_of(sources, 0) == false);
	CHECK(default_of(sources, 1) == true);
	CHECK(default_of(sources, 3) == true);
	CHECK(default_of(sources + 1, 2) == false);
	sources[1].text = "default allow";
	sources[1].len = 13;
	CHECK(default_of(sources + 1, 1) == true);
	CHECK(default_of(sources + 1, 2) == false);
}

static void errors_name_source_and_line(void)
{
	static const struct {
		enum policy_scope scope;
		const char *text, *want;
	} cases[] = {
		{ POLICY_GLOBAL, "a.com\n\n# x\nb..com\nc.com",
		  "file:4: b..com: neither a host name nor an address" },
		{ POLICY_GLOBAL, "default maybe",
		  "file:1: default is `allow` or `deny`" },
		{ POLICY_GLOBAL, "default", "file:1: default is" },
		{ POLICY_GLOBAL, "default deny\ndefault deny",
		  "file:2: line 1 has a default too" },
		{ POLICY_GLOBAL, "preset a\nx.com\npreset a",
		  "file:3: line 1 has a preset too" },
		{ POLICY_GLOBAL, "preset", "file:1: preset takes a name" },
		{ POLICY_GLOBAL, "preset ../x", "file:1: not the name of a" },
		{ POLICY_GLOBAL, "preset a b", "file:1: not the name of a" },
		{ POLICY_AGENT, "default allow",
		  "file:1: a default does not belong here" },
		{ POLICY_ONCE, "x.com\ndefault deny",
		  "file:2: a default does not belong here" },
		{ POLICY_GLOBAL, "x.com\r\ny.com\r\nlocalhost\r\n",
		  "file:3: localhost needs a port" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct policy_source source = { cases[i].scope, "file",
						cases[i].text,
						strlen(cases[i].text) };
		struct error err = { 0 };
		AUTO(policy)
		struct policy *policy = policy_compile(&source, 1, &err);

		CHECK(!policy);
		if (!strstr(err.text, cases[i].want))
			printf("# %s\n", err.text);
		CHECK(strstr(err.text, cases[i].want));
	}
}

static void odd_files_are_read_or_refused(void)
{
	static const char nul[] = "x.com\0y.com";
	struct policy_source source = { POLICY_GLOBAL, "file", nul,
					sizeof(nul) };
	char line[5000];
	struct error err;

	CHECK(!policy_compile(&source, 1, &err));
	CHECK(strstr(err.text, "file:1: a NUL byte"));
	memset(line, ' ', sizeof(line));
	source.text = line;
	source.len = sizeof(line);
	CHECK(!policy_compile(&source, 1, &err));
	CHECK(strstr(err.text, "too long"));
	source.text = "  x.com # y.com\n#z.com\ny.com#z";
	source.len = strlen(source.text);
	CHECK(!policy_compile(&source, 1, &err)); /* no comment in a word */
	CHECK(strstr(err.text, "file:3: "));
	source.len -= 8;
	AUTO(policy) struct policy *policy = policy_compile(&source, 1, &err);

	REQUIRE(policy);
	CHECK(policy_rule_count(policy) == 1);
}

static void names_denied_on_all_ports_are_known(void)
{
	AUTO(policy)
	struct policy *policy = verdict_compile(
		"deny a.com\ndeny **.b.com\ndeny c.com:80\ndeny d.com:1-65535\n"
		"deny GET e.com\nallow a.com:22\ndeny *.f.com\ng.com\n"
		"deny h.com:1-100\ndeny h.com:101-65535");

	REQUIRE(policy);
	CHECK(policy_name_denied_everywhere(policy, "a.com"));
	CHECK(!policy_name_denied_everywhere(policy, "x.a.com"));
	CHECK(policy_name_denied_everywhere(policy, "x.y.b.com"));
	CHECK(!policy_name_denied_everywhere(policy, "b.com"));
	CHECK(!policy_name_denied_everywhere(policy, "c.com"));
	CHECK(policy_name_denied_everywhere(policy, "d.com"));
	CHECK(!policy_name_denied_everywhere(policy, "e.com"));
	CHECK(policy_name_denied_everywhere(policy, "x.f.com"));
	CHECK(!policy_name_denied_everywhere(policy, "g.com"));
	CHECK(!policy_name_denied_everywhere(policy, "unknown.com"));
	/* Two rules together are not found; the name is denied at connect. */
	CHECK(!policy_name_denied_everywhere(policy, "h.com"));

	AUTO(policy) struct policy *all = verdict_compile("deny **\nx.com");

	REQUIRE(all);
	CHECK(policy_name_denied_everywhere(all, "x.com"));
}

static void names_that_rules_allow_are_known(void)
{
	AUTO(policy)
	struct policy *policy =
		verdict_compile("default allow\n**\na.com\n*.b.com\n**.c.com\n"
				"GET d.com/x\ndeny e.com:80\nbypass f.com:22\n"
				"inspect g.com\n.h.com");

	REQUIRE(policy);
	CHECK(policy_name_matched(policy, "a.com"));
	CHECK(!policy_name_matched(policy, "x.a.com"));
	CHECK(policy_name_matched(policy, "x.b.com"));
	CHECK(!policy_name_matched(policy, "b.com"));
	CHECK(policy_name_matched(policy, "x.y.c.com"));
	CHECK(policy_name_matched(policy, "d.com"));
	CHECK(!policy_name_matched(policy, "e.com"));
	CHECK(policy_name_matched(policy, "f.com"));
	CHECK(!policy_name_matched(policy, "g.com"));
	CHECK(policy_name_matched(policy, "h.com"));
	/* ** means all names: it tells none from the others. */
	CHECK(!policy_name_matched(policy, "unknown.com"));
}

static void ports_of_localhost_are_listed(void)
{
	uint16_t ports[4];
	AUTO(policy)
	struct policy *policy = verdict_compile(
		"localhost:5432\nlocalhost:3000-3002\nlocalhost:3001\n"
		"deny localhost:3002\n127.0.0.1:8080\n[::1]:8081\n"
		"deny localhost:9000\n127.0.0.0/8\n10.0.0.1:7\n"
		"GET host.docker.internal:8000/api/**\ninspect "
		"localhost:1");

	REQUIRE(policy);
	CHECK(policy_localhost_ports(policy, ports, 4) == 6);
	CHECK(ports[0] == 3000 && ports[1] == 3001 && ports[2] == 5432 &&
	      ports[3] == 8000);
	CHECK(policy_localhost_ports(policy, NULL, 0) == 6);

	AUTO(policy)
	struct policy *none = verdict_compile("default allow\n**:1-65535");

	REQUIRE(none);
	CHECK(policy_localhost_ports(none, ports, 4) == 0);
}

/* Each label of a name and each prefix of an address can have its own rule. */
static void the_deepest_nesting_works(void)
{
	char rules[64 * 1024] = "", name[254] = "a";
	AUTO(policy) struct policy *policy = NULL;
	size_t used = 0;
	char got[64];

	for (int i = 0; i < 126; i++) {
		used += (size_t)snprintf(rules + used, sizeof(rules) - used,
					 "inspect **.%s\n", name);
		memmove(name + 2, name, strlen(name) + 1);
		memcpy(name, "a.", 2);
	}
	for (int i = 0; i <= 128; i++)
		used += (size_t)snprintf(rules + used, sizeof(rules) - used,
					 "inspect ::/%d\n", i);
	snprintf(rules + used, sizeof(rules) - used, "**.a\n::/128");
	policy = verdict_compile(rules);
	REQUIRE(policy);
	CHECK(strlen(name) == 253);
	CHECK(policy_decide_name(policy, name, 443).inspect);
	CHECK(policy_decide_name(policy, name, 443).answer == POLICY_ALLOW);
	verdict_text(policy, "[::]:443", got, sizeof(got));
	CHECK(!strcmp(got, "allow#257 inspect exact"));
}

int main(void)
{
	RUN(scopes_are_kept);
	RUN(the_narrowest_default_counts);
	RUN(errors_name_source_and_line);
	RUN(odd_files_are_read_or_refused);
	RUN(names_denied_on_all_ports_are_known);
	RUN(names_that_rules_allow_are_known);
	RUN(ports_of_localhost_are_listed);
	RUN(the_deepest_nesting_works);
	return DONE();
}
