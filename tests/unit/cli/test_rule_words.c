/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rule_words.c - rules as they stand on a command line
 */
#include "base/buffer.h"
#include "base/error.h"
#include "cli/options.h"
#include "cli/rule_words.h"
#include "lib/tap.h"

static struct error err;

/* The rules, one a line; "" when the text is refused; until the next call. */
static const char *rules_with(const char *text, const char *methods,
			      const char *path)
{
	static struct buffer out;
	AUTO_RULE_WORDS struct rule_words words = RULE_WORDS_INIT;
	struct rule_words_limits limits = { methods, path };
	char line[POLICY_RULE_TEXT_SIZE];

	buffer_release(&out);
	buffer_init(&out, 65536);
	err = (struct error){ 0 };
	if (rule_words_add(&words, text, RULE_ALLOW, &limits, &err) < 0)
		return "";
	for (size_t i = 0; i < words.count; i++) {
		policy_rule_text(&words.rules[i], line, sizeof(line));
		buffer_printf(&out, "%s\n", line);
	}
	return buffer_str(&out);
}

#define RULES(text) rules_with(text, NULL, NULL)

static void commas_part_rules(void)
{
	CHECK(!strcmp(RULES("example.com"), "allow example.com\n"));
	CHECK(!strcmp(RULES("*.npmjs.org,github.com"),
		      "allow *.npmjs.org\nallow github.com\n"));
	CHECK(!strcmp(RULES("a.com, b.com:8443,localhost:5432"),
		      "allow a.com\nallow b.com:8443\nallow localhost:5432\n"));
	CHECK(!strcmp(RULES("**"), "allow **\n"));
	CHECK(!strcmp(RULES("a.com,,b.com,"), "allow a.com\nallow b.com\n"));
}

static void commas_of_methods_do_not(void)
{
	CHECK(!strcmp(RULES("GET,HEAD github.com/org/**"),
		      "allow GET,HEAD github.com/org/**\n"));
	CHECK(!strcmp(RULES("x.com,GET,HEAD y.com,z.com"),
		      "allow x.com\nallow GET,HEAD y.com\nallow z.com\n"));
}

static void limits_hold_for_each(void)
{
	CHECK(!strcmp(
		rules_with("x.com,y.com", "GET,POST", "/a/**"),
		"allow GET,POST x.com/a/**\nallow GET,POST y.com/a/**\n"));
	CHECK(!strcmp(rules_with("x.com", NULL, "a"), "allow x.com/a\n"));
	CHECK(!strcmp(rules_with("x.com", "get", NULL), "allow GET x.com\n"));
}

static void what_is_no_rule_is_a_usage_error(void)
{
	static const char *const bad[] = {
		"",
		",",
		"deny a.com",
		"a.com#x",
		"a.com\nallow **",
		"http://a.com",
		"localhost",
		"a.com:0",
		"a.com:x",
		"1.2.3.4.5",
		"a b c d",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(!strcmp(RULES(bad[i]), ""));
		CHECK(err.code == OPTIONS_USAGE);
		if (*RULES(bad[i]))
			printf("# %s\n", bad[i]);
	}
	CHECK(!strcmp(rules_with("a.com", "FETCH", NULL), ""));
	CHECK(!strcmp(rules_with("a.com/x", NULL, "/y"), ""));
	CHECK(!strcmp(rules_with("GET a.com", "POST", NULL), ""));
}

static void an_error_is_fit_for_a_terminal(void)
{
	CHECK(!strcmp(RULES("a\033[2J.com"), "") && !strchr(err.text, '\033'));
}

int main(void)
{
	RUN(commas_part_rules);
	RUN(commas_of_methods_do_not);
	RUN(limits_hold_for_each);
	RUN(what_is_no_rule_is_a_usage_error);
	RUN(an_error_is_fit_for_a_terminal);
	return DONE();
}
