/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rule.c - rules from text and to text
 */
#include "policy/rule.h"

#include "base/error.h"
#include "lib/tap.h"
#include "policy/method.h"
#include "policy/path_glob.h"

static int parse(const char *text, struct policy_rule *rule, struct error *err)
{
	return rule_parse(text, strlen(text), RULE_ALLOW, rule, err);
}

/* The text that it becomes must mean the same. */
static void check_text(const char *text, const char *want)
{
	struct policy_rule rule, again;
	char got[POLICY_RULE_TEXT_SIZE];
	struct error err;

	if (parse(text, &rule, &err) < 0) {
		printf("# %s: %s\n", text, err.text);
		CHECK(!"a rule");
		return;
	}
	policy_rule_text(&rule, got, sizeof(got));
	if (strcmp(got, want))
		printf("# %s: %s, not %s\n", text, got, want);
	CHECK(strcmp(got, want) == 0);
	REQUIRE(parse(got, &again, &err) == 0);
	CHECK(rule_same_target(&rule, &again) && rule.action == again.action);
	CHECK(rule_is_conditional(&rule) == rule_is_conditional(&again));
	rule_release(&rule);
	rule_release(&again);
}

static void rules_have_one_text(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		/* what it does */
		{ "example.com", "allow example.com" },
		{ "allow example.com", "allow example.com" },
		{ "deny example.com", "deny example.com" },
		{ "bypass example.com", "bypass example.com" },
		{ "inspect example.com", "inspect example.com" },
		{ "\tdeny  example.com ", "deny example.com" },
		/* a name that is a word of the language */
		{ "deny", "allow deny" },
		{ "allow deny", "allow deny" },
		{ "get", "allow get" },
		/* names */
		{ "Example.COM.", "allow example.com" },
		{ "*.Example.com", "allow *.example.com" },
		{ "**.example.com.", "allow **.example.com" },
		{ ".example.com", "allow .example.com" },
		{ "**", "allow **" },
		{ "xn--bcher-kva.example", "allow xn--bcher-kva.example" },
		{ "_dmarc.example.com", "allow _dmarc.example.com" },
		{ "*.com", "allow *.com" },
		/* ports */
		{ "example.com:8080", "allow example.com:8080" },
		{ "example.com:1-65535", "allow example.com:1-65535" },
		{ "example.com:80-80", "allow example.com:80" },
		{ "**:22", "allow **:22" },
		{ "*.x.example:5000-5010", "allow *.x.example:5000-5010" },
		/* addresses */
		{ "192.0.2.1", "allow 192.0.2.1" },
		{ "192.0.2.1:22", "allow 192.0.2.1:22" },
		{ "192.0.2.0/24", "allow 192.0.2.0/24" },
		{ "192.0.2.77/24", "allow 192.0.2.0/24" },
		{ "192.0.2.0/24:443", "allow 192.0.2.0/24:443" },
		{ "192.0.2.1/32", "allow 192.0.2.1" },
		{ "0.0.0.0/0", "allow 0.0.0.0/0" },
		{ "2001:db8::1", "allow 2001:db8::1" },
		{ "[2001:db8::1]", "allow 2001:db8::1" },
		{ "[2001:DB8:0::1]:443", "allow [2001:db8::1]:443" },
		{ "2001:db8::/32", "allow 2001:db8::/32" },
		{ "[2001:db8::/32]:1-2", "allow [2001:db8::/32]:1-2" },
		{ "[2001:db8::1]/a", "allow [2001:db8::1]/a" },
		{ "::ffff:192.0.2.1", "allow 192.0.2.1" },
		{ "::ffff:192.0.2.0/120", "allow 192.0.2.0/24" },
		{ "::/0", "allow ::/0" },
		/* the host */
		{ "localhost:5432", "allow localhost:5432" },
		{ "LOCALHOST.:5432", "allow localhost:5432" },
		{ "host.docker.internal:80", "allow localhost:80" },
		{ "gateway.docker.internal:80-90", "allow localhost:80-90" },
		{ "deny localhost:1-65535", "deny localhost:1-65535" },
		/* methods: in one order, once */
		{ "GET example.com", "allow GET example.com" },
		{ "allow post,GET,get x.example", "allow GET,POST x.example" },
		{ "deny PROPFIND x.example", "deny PROPFIND x.example" },
		/* paths */
		{ "example.com/", "allow example.com/" },
		{ "example.com/a/b", "allow example.com/a/b" },
		{ "example.com:80/a/*", "allow example.com:80/a/*" },
		{ "example.com/**", "allow example.com" },
		{ "example.com/**/**", "allow example.com" },
		{ "example.com/a/**/**/b/**", "allow example.com/a/**/b/**" },
		{ "example.com/a*b/*.c/d*", "allow example.com/a*b/*.c/d*" },
		{ "example.com//a///b", "allow example.com/a/b" },
		{ "example.com/%61%7Eb%2d", "allow example.com/a~b-" },
		{ "example.com/a%20b%3f", "allow example.com/a%20b%3f" },
		{ "example.com/b\xc3\xbc", "allow example.com/b%c3%bc" },
		{ "example.com/a:b@c", "allow example.com/a:b@c" },
		{ "192.0.2.1:80/8", "allow 192.0.2.1:80/8" },
		{ "192.0.2.0/24:80/8", "allow 192.0.2.0/24:80/8" },
		{ "192.0.2.1/index", "allow 192.0.2.1/index" },
		{ "deny GET,PUT **/x/**", "deny GET,PUT **/x/**" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		check_text(cases[i].text, cases[i].want);
}

static void other_texts_are_refused(void)
{
	static const struct {
		const char *text, *why; /* part of what is said */
	} cases[] = {
		{ "", "needs a host" },
		{ " ", "needs a host" },
		{ "allow example.com too", "neither allow" },
		{ "allow GET example.com x", "too many words" },
		{ "GETT example.com", "GETT: neither allow" },
		{ "GET,, example.com", "neither allow" },
		{ ",GET example.com", "neither allow" },
		{ "permit example.com", "permit: neither allow" },
		{ "allow allow example.com", "neither allow" },
		/* names */
		{ "https://example.com/", "not a URL" },
		{ "example..com", "neither a host name nor" },
		{ "-example.com", "neither a host name nor" },
		{ "exam ple.com", "neither allow" },
		{ "b\xc3\xbc"
		  "cher.example",
		  "in ASCII" },
		{ "user@example.com", "neither a host name nor" },
		{ "*", "a wildcard is" },
		{ "*example.com", "a wildcard is" },
		{ "example.*", "a wildcard is" },
		{ "a.*.example.com", "a wildcard is" },
		{ "*.*.example.com", "a wildcard is" },
		{ "***.example.com", "a wildcard is" },
		{ "**.", "a wildcard is" },
		{ "*.", "a wildcard is" },
		{ ".", "neither a host name nor" },
		{ "..example.com", "neither a host name nor" },
		/* what libc would take for an address (E3) */
		{ "2130706433", "neither a host name nor" },
		{ "0x7f000001", "neither a host name nor" },
		{ "0177.0.0.1", "neither a host name nor" },
		{ "127.1", "neither a host name nor" },
		{ "*.1", "a wildcard is" },
		{ "192.0.2.256", "neither a host name nor" },
		{ "192.0.2.0/33", "not a range" },
		{ "2001:db8::1%eth0", "neither a host name nor" },
		{ "2001:db8::/129", "not a range" },
		{ "[192.0.2.1]:80", "brackets are for IPv6" },
		{ "[2001:db8::1", "without `]`" },
		{ "[2001:db8::1]x", "behind `]`" },
		{ "192.0.2.0/24/api", "needs a port before it" },
		{ "192.0.2.1/8/api", "needs a port before it" },
		/* ports */
		{ "example.com:", "a port is" },
		{ "example.com:0", "a port is" },
		{ "example.com:65536", "a port is" },
		{ "example.com:80-", "a port is" },
		{ "example.com:-80", "a port is" },
		{ "example.com:90-80", "a port is" },
		{ "example.com:+80", "a port is" },
		{ "example.com:80a", "a port is" },
		{ "example.com:http", "a port is" },
		{ "localhost", "needs a port" },
		{ "localhost/x", "needs a port" },
		{ "host.docker.internal", "needs a port" },
		/* paths */
		{ "example.com/a?b", "no query" },
		{ "example.com/a#b", "no query" },
		{ "example.com/a**", "whole segments" },
		{ "example.com/a/***", "whole segments" },
		{ "example.com/*a*", "one `*`" },
		{ "example.com/a/../b", "read alike" },
		{ "example.com/./b", "read alike" },
		{ "example.com/a%2fb", "read alike" },
		{ "example.com/a\\b", "read alike" },
		{ "example.com/a%5cb", "read alike" },
		{ "example.com/a%00", "read alike" },
		{ "example.com/a%2", "read alike" },
		{ "example.com/a;b", "read alike" },
		{ "example.com/%2A", "encoded star" },
		{ "example.com/%2a*", "encoded star" },
		{ "example.com/\xff", "read alike" },
		/* what looks inside cannot stay outside */
		{ "bypass GET example.com", "takes no method" },
		{ "bypass example.com/a", "takes no method" },
		{ "inspect POST example.com", "takes no method" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct error err = { 0 };
		struct policy_rule rule;

		if (parse(cases[i].text, &rule, &err) == 0) {
			printf("# %s was taken\n", cases[i].text);
			rule_release(&rule);
			CHECK(!"refused");
			continue;
		}
		if (!strstr(err.text, cases[i].why))
			printf("# %s: %s\n", cases[i].text, err.text);
		CHECK(strstr(err.text, cases[i].why));
	}
}

/* As foreign bytes they may stand anywhere: nothing behind the end is read. */
static void a_rule_may_be_cut_at_every_byte(void)
{
	static const char text[] =
		"deny GET,POST [2001:db8::/32]:80-443/a/**/b*c/%20";

	for (size_t len = 0; len < sizeof(text); len++) {
		char *copy = malloc(len ? len : 1);
		struct policy_rule rule;

		memcpy(copy, text, len);
		if (rule_parse(copy, len, RULE_ALLOW, &rule, NULL) == 0)
			rule_release(&rule);
		free(copy);
	}
	CHECK(1);
}

static void paths_have_limits(void)
{
	char text[4096] = "example.com";
	struct policy_rule rule;
	struct error err;

	for (int i = 0; i < PATH_GLOB_SEGMENTS_MAX; i++)
		snprintf(text + strlen(text), 3, "/a");
	CHECK(parse(text, &rule, &err) == 0);
	rule_release(&rule);
	snprintf(text + strlen(text), 3, "/a");
	CHECK(parse(text, &rule, &err) < 0 && strstr(err.text, "too many"));
	memset(text + 12, 'a', PATH_GLOB_MAX - 1);
	text[11] = '/';
	text[11 + PATH_GLOB_MAX] = '\0';
	CHECK(parse(text, &rule, &err) == 0);
	rule_release(&rule);
	text[11 + PATH_GLOB_MAX] = 'a';
	text[12 + PATH_GLOB_MAX] = '\0';
	CHECK(parse(text, &rule, &err) < 0 && strstr(err.text, "too long"));
	/* Encoded it would be too long to be read again. */
	memset(text + 12, 0, sizeof(text) - 12);
	for (int i = 0; i < 250; i++)
		memcpy(text + 12 + 2 * i, "\xc3\xbc", 2);
	CHECK(parse(text, &rule, &err) < 0 && strstr(err.text, "too long"));
}

static void methods_are_bits(void)
{
	uint32_t methods;

	CHECK(method_bit("GET") == 1u << 0);
	CHECK(method_bit("HEAD") == 1u << 1);
	CHECK(method_bit("PURGE") != METHOD_OTHER);
	CHECK(method_bit("get") == METHOD_OTHER);
	CHECK(method_bit("") == METHOD_OTHER);
	CHECK(method_bit("GETS") == METHOD_OTHER);
	CHECK(method_bit("GE") == METHOD_OTHER);
	CHECK(method_list_parse("get,Head", 8, &methods) == 0 && methods == 3);
	CHECK(method_list_parse("", 0, &methods) < 0);
	CHECK(method_list_parse("GET,", 4, &methods) < 0);
}

int main(void)
{
	RUN(rules_have_one_text);
	RUN(other_texts_are_refused);
	RUN(a_rule_may_be_cut_at_every_byte);
	RUN(paths_have_limits);
	RUN(methods_are_bits);
	return DONE();
}
