/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_words.c - rules of the network as they stand on a command line
 */
#include "cli/rule_words.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"
#include "policy/policy_rules.h"

static int refuse(const char *text, size_t len, struct error *err)
{
	char shown[120], why[sizeof(err->text)];

	text_printable(text, len, shown, sizeof(shown));
	text_copy(why, sizeof(why), err ? err->text : "");
	return options_usage(err, "\"%s\": %s", shown, why);
}

/* "METHODS TARGET/PATH" from the parts that were given apart. */
static char *with_limits(const char *text, size_t len,
			 const struct rule_words_limits *limits)
{
	const char *methods = limits ? limits->methods : NULL;
	const char *path = limits ? limits->path : NULL;

	return xasprintf("%s%s%.*s%s%s", methods ? methods : "",
			 methods ? " " : "", (int)len, text,
			 path && path[0] != '/' ? "/" : "", path ? path : "");
}

/* A path beside one that the rule has itself would be glued to it. */
static int check_path(const char *text, size_t len,
		      const struct rule_words_limits *limits, struct error *err)
{
	struct policy_rule rule;
	bool has_path;

	if (!limits || !limits->path)
		return 0;
	if (rule_parse(text, len, RULE_ALLOW, &rule, err) < 0)
		return -1;
	has_path = rule.path != NULL;
	rule_release(&rule);
	return has_path ? error_set(err, 0, "has a path, and --path too") : 0;
}

static int add_one(struct rule_words *words, const char *text, size_t len,
		   enum rule_action action,
		   const struct rule_words_limits *limits, struct error *err)
{
	AUTO_FREE char *whole = with_limits(text, len, limits);
	struct policy_rule rule;

	if (strchr(whole, '#') || strchr(whole, '\n')) {
		error_set(err, 0, "not a rule");
		return refuse(text, len, err);
	}
	if (check_path(text, len, limits, err) < 0 ||
	    rule_parse(whole, strlen(whole), action, &rule, err) < 0)
		return refuse(text, len, err);
	/* `allow "deny x"` is more likely a mistake than a wish */
	if (rule.action != action) {
		rule_release(&rule);
		error_set(err, 0,
			  "a rule of this command says no `allow` or "
			  "`deny` itself");
		return refuse(text, len, err);
	}
	if (words->count == RULE_WORDS_MAX) {
		rule_release(&rule);
		return options_usage(err, "more than %d rules", RULE_WORDS_MAX);
	}
	words->rules = xrealloc(words->rules,
				(words->count + 1) * sizeof(*words->rules));
	words->rules[words->count++] = rule;
	return 0;
}

int rule_words_add(struct rule_words *words, const char *text,
		   enum rule_action action,
		   const struct rule_words_limits *limits, struct error *err)
{
	size_t len, before = words->count;
	const char *rule;

	while ((len = policy_rules_next(&text, &rule)) > 0)
		if (add_one(words, rule, len, action, limits, err) < 0)
			return -1;
	return words->count > before ? 0
				     : options_usage(err, "a rule is missing");
}

void rule_words_release(struct rule_words *words)
{
	for (size_t i = 0; i < words->count; i++)
		rule_release(&words->rules[i]);
	free(words->rules);
	*words = RULE_WORDS_INIT;
}
