/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_policy.c - policy init, allow, deny, rm
 */
#include "cli/command.h"

#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/policy_change.h"
#include "cli/policy_place.h"
#include "cli/policy_set.h"
#include "cli/rule_words.h"
#include "policy/policy_rules.h"

/* A sandbox's name where its rule is missing would become a rule. */
static int check_name(const struct options *options, size_t used,
		      struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	const char *word = options->words[used];

	if (used + 1 != options->word_count || strchr(word, '.') ||
	    store_open(&store, NULL) < 0)
		return 0;
	for (size_t i = 0; i < store.count; i++)
		if (!strcmp(store.names[i], word))
			return options_usage(err,
					     "%s is a sandbox: which rule? "
					     "(usage: bawn %s %s)",
					     word, options->command->name,
					     options->command->arguments);
	return 0;
}

static int take(const struct options *options, enum rule_action action,
		struct policy_place *place, struct rule_words *words,
		struct error *err)
{
	struct rule_words_limits limits = { options_value(options, "method"),
					    options_value(options, "path") };
	size_t used;

	if (policy_place_find(options, 1, place, &used, err) < 0 ||
	    check_name(options, used, err) < 0)
		return -1;
	return rule_words_add(words, options->words[used], action, &limits,
			      err);
}

static int add_rules(void *ctx, struct buffer *text, struct error *err)
{
	const struct rule_words *words = ctx;
	char line[POLICY_RULE_TEXT_SIZE];
	int changed = 0;

	for (size_t i = 0; i < words->count; i++) {
		int added;

		policy_rule_text(&words->rules[i], line, sizeof(line));
		added = policy_rules_add(text, line, err);
		if (added < 0)
			return -1;
		changed |= added;
	}
	return changed;
}

static int change(const struct options *options, enum rule_action action,
		  struct error *err)
{
	AUTO_POLICY_PLACE struct policy_place place = POLICY_PLACE_INIT;
	AUTO_RULE_WORDS struct rule_words words = RULE_WORDS_INIT;

	if (take(options, action, &place, &words, err) < 0)
		return -1;
	return policy_change(&place, add_rules, &words, err) < 0 ? -1 : 0;
}

static int allow(const struct options *options, struct error *err)
{
	return change(options, RULE_ALLOW, err);
}

static int deny(const struct options *options, struct error *err)
{
	return change(options, RULE_DENY, err);
}

struct removal {
	const struct rule_words *words;
	char missing[POLICY_RULE_TEXT_SIZE]; /* a rule that is not there */
};

/* By their targets, whatever they do there. */
static int remove_rules(void *ctx, struct buffer *text, struct error *err)
{
	struct removal *removal = ctx;
	char target[POLICY_RULE_TEXT_SIZE];
	int changed = 0;

	for (size_t i = 0; i < removal->words->count; i++) {
		int removed;

		rule_format_target(&removal->words->rules[i], target,
				   sizeof(target));
		removed = policy_rules_remove(text, target, err);
		if (removed < 0)
			return -1;
		if (!removed)
			text_copy(removal->missing, sizeof(removal->missing),
				  target);
		changed |= removed > 0;
	}
	return changed;
}

static int rm(const struct options *options, struct error *err)
{
	AUTO_POLICY_PLACE struct policy_place place = POLICY_PLACE_INIT;
	AUTO_RULE_WORDS struct rule_words words = RULE_WORDS_INIT;
	struct removal removal = { .words = &words };

	if (take(options, RULE_ALLOW, &place, &words, err) < 0 ||
	    policy_change(&place, remove_rules, &removal, err) < 0)
		return -1;
	if (removal.missing[0])
		return error_set(err, 0,
				 "%s has no rule for %s (`bawn policy ls` "
				 "lists them)",
				 place.global ? "the policy of all sandboxes"
					      : place.sandbox.record.name,
				 removal.missing);
	return 0;
}

static int set_preset(void *ctx, struct buffer *text, struct error *err)
{
	struct policy_facts facts;

	if (policy_rules_facts((const char *)text->data, text->len, &facts,
			       err) < 0)
		return -1;
	/* the preset has a default verdict of its own */
	facts.has_default = false;
	text_copy(facts.preset, sizeof(facts.preset), ctx);
	return policy_rules_set_facts(text, &facts, err);
}

static int init(const struct options *options, struct error *err)
{
	AUTO_POLICY_PLACE struct policy_place place = POLICY_PLACE_INIT;
	const char *name = options_value(options, "sandbox");

	if (policy_set_check_preset(options->words[0], err) < 0)
		return options_usage(err, "%s", err->text);
	place.global = !name;
	if (name && sandbox_open(name, &place.sandbox, err) < 0)
		return -1;
	return policy_change(&place, set_preset, (void *)options->words[0],
			     err) < 0
		       ? -1
		       : 0;
}

static const struct option_row rule_rows[] = {
	{ "method", '\0', OPTION_VALUE, "METHOD[,METHOD...]",
	  "requests with these HTTP methods only", "GET|HEAD|POST|PUT|DELETE",
	  OPTION_HERE },
	{ "path", '\0', OPTION_VALUE, "PATH",
	  "requests for these paths only; * and ** as in rules", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

#define RULE_ARGUMENTS "[network] [NAME] RULE[,RULE...]"
#define RULE_DETAILS                                                         \
	"RULE is HOST[:PORT][/PATH]; HOST is a name, *.x (one label), **.x " \
	"(any depth), **, an address,\na range, or localhost:PORT. Without " \
	"NAME it is for the current folder's sandbox.\nRunning sandboxes "   \
	"follow at once. See bawn-policy(5)."

const struct command command_policy_init = {
	.name = "policy init",
	.arguments = "PRESET",
	.help = "choose the preset that sandboxes without one of their own "
		"have",
	.details = "PRESET is balanced, deny-all or allow-all. With --sandbox "
		   "for that one alone.",
	.options = policy_place_rows,
	.completes = COMPLETE_PRESETS,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = init,
};

const struct command command_policy_allow = {
	.name = "policy allow",
	.arguments = RULE_ARGUMENTS,
	.help = "let a sandbox connect there",
	.details = RULE_DETAILS,
	.options = rule_rows,
	.options_too = policy_place_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 3,
	.failure_code = 1,
	.run = allow,
};

const struct command command_policy_deny = {
	.name = "policy deny",
	.arguments = RULE_ARGUMENTS,
	.help = "never let a sandbox connect there; closes what is open",
	.details = RULE_DETAILS,
	.options = rule_rows,
	.options_too = policy_place_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 3,
	.failure_code = 1,
	.run = deny,
};

const struct command command_policy_rm = {
	.name = "policy rm",
	.arguments = RULE_ARGUMENTS,
	.help = "remove rules; closes what they had opened",
	.details = RULE_DETAILS,
	.options = rule_rows,
	.options_too = policy_place_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 3,
	.failure_code = 1,
	.run = rm,
};
