/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_policy_rules.c - files of rules are changed where asked and nowhere else
 */
#include "policy/policy_rules.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"
#include "policy/policy.h"

static void check_text(struct buffer *text, const char *want)
{
	if (strcmp(buffer_str(text), want))
		printf("# %s\n", buffer_str(text));
	CHECK(strcmp(buffer_str(text), want) == 0);
}

static void rules_are_added(void)
{
	static const struct {
		const char *before, *line;
		int want;
		const char *after;
	} cases[] = {
		{ "", "allow x.com", 1, "allow x.com\n" },
		{ "# mine", "allow x.com", 1, "# mine\nallow x.com\n" },
		{ "a.com\n\n# b\n", "deny x.com", 1,
		  "a.com\n\n# b\ndeny x.com\n" },
		/* there already, in another spelling */
		{ "  X.com.  # why\n", "allow x.com", 0, "  X.com.  # why\n" },
		{ "HEAD,GET x.com\n", "allow GET,HEAD x.com", 0,
		  "HEAD,GET x.com\n" },
		/* another verdict on the same target takes its place */
		{ "# a\n deny X.com # why\nb.com\n", "allow x.com", 1,
		  "# a\n allow x.com # why\nb.com\n" },
		{ "x.com\ny.com\ndeny x.com\n", "bypass x.com", 1,
		  "bypass x.com\ny.com\n" },
		{ "x.com\ndeny x.com\n", "allow x.com", 1, "x.com\n" },
		/* another target is another rule */
		{ "x.com:443\n", "deny x.com", 1, "x.com:443\ndeny x.com\n" },
		{ "GET x.com\n", "deny x.com", 1, "GET x.com\ndeny x.com\n" },
		/* to inspect is no verdict */
		{ "inspect x.com\n", "allow x.com", 1,
		  "inspect x.com\nallow x.com\n" },
		{ "x.com\n", "inspect x.com", 1, "x.com\ninspect x.com\n" },
		/* lines of others */
		{ "default deny\npreset p\nno rule at all\n", "allow x.com", 1,
		  "default deny\npreset p\nno rule at all\nallow x.com\n" },
		{ "a.com\r\ndeny x.com\r\n", "allow x.com", 1,
		  "a.com\r\nallow x.com\r\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_BUFFER struct buffer text = BUFFER_INIT(4096);
		struct error err;

		buffer_append(&text, cases[i].before, strlen(cases[i].before));
		CHECK(policy_rules_add(&text, cases[i].line, &err) ==
		      cases[i].want);
		check_text(&text, cases[i].after);
	}
}

static void rules_are_removed(void)
{
	static const struct {
		const char *before, *rule;
		int want;
		const char *after;
	} cases[] = {
		{ "a.com\nx.com # y\nb.com\n", "x.com", 1, "a.com\nb.com\n" },
		{ "a.com\n", "x.com", 0, "a.com\n" },
		{ "", "x.com", 0, "" },
		{ "deny x.com\nx.com", "x.com", 2, "" },
		{ "deny x.com\nx.com", "deny x.com", 1, "x.com" },
		{ "deny x.com\nx.com", "allow X.com", 1, "deny x.com\n" },
		{ "inspect x.com\n", "x.com", 1, "" },
		{ "GET x.com\nx.com\n", "get x.com", 1, "x.com\n" },
		{ "x.com:80\n", "x.com", 0, "x.com:80\n" },
		{ "host.docker.internal:80\n", "localhost:80", 1, "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_BUFFER struct buffer text = BUFFER_INIT(4096);
		struct error err;

		buffer_append(&text, cases[i].before, strlen(cases[i].before));
		CHECK(policy_rules_remove(&text, cases[i].rule, &err) ==
		      cases[i].want);
		check_text(&text, cases[i].after);
	}
}

static void facts_are_set(void)
{
	static const struct {
		const char *before;
		struct policy_facts facts;
		int want;
		const char *after;
	} cases[] = {
		{ "", { false, false, "balanced" }, 1, "preset balanced\n" },
		{ "x.com", { true, true, "" }, 1, "x.com\ndefault allow\n" },
		{ "# a\npreset p # b\nx.com\n",
		  { false, false, "deny-all" },
		  1,
		  "# a\npreset deny-all # b\nx.com\n" },
		{ "preset p\nx.com\ndefault deny\n",
		  { true, true, "" },
		  1,
		  "x.com\ndefault allow\n" },
		{ "preset p\ndefault deny\n",
		  { true, false, "p" },
		  0,
		  "preset p\ndefault deny\n" },
		{ "preset p\npreset q\n",
		  { false, false, "p" },
		  1,
		  "preset p\n" },
		{ "default deny\nx.com\n", { false, false, "" }, 1, "x.com\n" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		AUTO_BUFFER struct buffer text = BUFFER_INIT(4096);
		struct policy_facts facts;
		struct error err;

		buffer_append(&text, cases[i].before, strlen(cases[i].before));
		CHECK(policy_rules_set_facts(&text, &cases[i].facts, &err) ==
		      cases[i].want);
		check_text(&text, cases[i].after);
		CHECK(policy_rules_facts((const char *)text.data, text.len,
					 &facts, &err) == 0);
		CHECK(facts.has_default == cases[i].facts.has_default);
		CHECK(facts.allow == cases[i].facts.allow);
		CHECK(!strcmp(facts.preset, cases[i].facts.preset));
	}
}

static void lists_are_split_at_commas(void)
{
	const char *list = " a.com, GET,HEAD b.com/x ,deny c.com,,post d.com,";
	static const char *const want[] = { "a.com", "GET,HEAD b.com/x",
					    "deny c.com", "post d.com" };
	const char *rule;
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		len = policy_rules_next(&list, &rule);
		CHECK(len == strlen(want[i]) && !memcmp(rule, want[i], len));
	}
	CHECK(policy_rules_next(&list, &rule) == 0);
	CHECK(policy_rules_next(&list, &rule) == 0);
	list = "GET,HEAD";
	CHECK(policy_rules_next(&list, &rule) == 8);
}

static void typed_rules_become_lines(void)
{
	static const struct {
		const char *action, *text, *want; /* NULL: refused */
	} cases[] = {
		{ "allow", "*.npmjs.org", "allow *.npmjs.org" },
		{ "deny", "Localhost:5432", "deny localhost:5432" },
		{ "deny", "allow x.com", "allow x.com" },
		{ "allow", "GET,HEAD github.com/org/**",
		  "allow GET,HEAD github.com/org/**" },
		{ "bypass", "x.com/a", NULL },
		{ "allow", "x.com # no", NULL },
		{ "allow", "x.com\ndeny y.com", NULL },
		{ "forbid", "x.com", NULL },
		{ "allow", "default deny", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[POLICY_RULE_TEXT_SIZE];
		struct error err;
		int got = policy_rules_line(cases[i].action, cases[i].text,
					    strlen(cases[i].text), line,
					    sizeof(line), &err);

		CHECK(got == (cases[i].want ? 0 : -1));
		if (got == 0 && cases[i].want)
			CHECK(!strcmp(line, cases[i].want));
	}
}

static void note(void *ctx, const struct policy_rules_item *item)
{
	buffer_printf(ctx, "%u %s|%s\n", item->line, item->action,
		      item->target);
}

static void rules_are_listed(void)
{
	static const char text[] =
		"# a\nx.com\n\ndefault deny\ndeny get Y.com:1-2/a # b\n";
	AUTO_BUFFER struct buffer out = BUFFER_INIT(4096);
	struct error err;

	CHECK(policy_rules_list(text, strlen(text), note, &out, &err) == 0);
	check_text(&out, "2 allow|x.com\n5 deny|GET y.com:1-2/a\n");
	CHECK(policy_rules_list("x.com\nfoo bar", 13, note, &out, &err) < 0);
	CHECK(strstr(err.text, "line 2: foo: neither"));
}

static void a_full_file_is_not_changed(void)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(20);
	struct error err;

	buffer_append(&text, "a.com\nb.com\n", 12);
	CHECK(policy_rules_add(&text, "allow c.com", &err) < 0);
	CHECK(strstr(err.text, "too long"));
	check_text(&text, "a.com\nb.com\n");
	CHECK(policy_rules_add(&text, "c..", &err) < 0);
	buffer_release(&text);
	buffer_init(&text, 100);
	buffer_append(&text, "default x\n", 10);
	CHECK(policy_rules_add(&text, "allow c.com", &err) < 0);
	CHECK(strstr(err.text, "line 1: "));
	CHECK(policy_rules_remove(&text, "c.com", &err) < 0);
	CHECK(policy_rules_remove(&text, "c..com", &err) < 0);
	check_text(&text, "default x\n");
}

int main(void)
{
	RUN(rules_are_added);
	RUN(rules_are_removed);
	RUN(facts_are_set);
	RUN(lists_are_split_at_commas);
	RUN(typed_rules_become_lines);
	RUN(rules_are_listed);
	RUN(a_full_file_is_not_changed);
	return DONE();
}
