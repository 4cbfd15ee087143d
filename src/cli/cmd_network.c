/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_network.c - network proxy: rules as another tool spells them
 *
 * What is given adds up over calls. --policy sets what happens where no rule
 * matches, and parts the sandbox from its preset: whoever says `deny` does not
 * expect a list that somebody else made.
 */
#include "cli/command.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/policy_change.h"
#include "cli/policy_place.h"
#include "cli/rule_words.h"
#include "policy/policy_rules.h"

#define EMPTY_PRESET "deny-all"

static const struct {
	const char *option;
	enum rule_action action;
	bool is_range;
} lists[] = {
	{ "allow-host", RULE_ALLOW, false },
	{ "allow-cidr", RULE_ALLOW, true },
	{ "bypass-host", RULE_BYPASS, false },
	{ "bypass-cidr", RULE_BYPASS, true },
	{ "block-host", RULE_DENY, false },
	{ "block-cidr", RULE_DENY, true },
};

struct wish {
	const char *verdict; /* of --policy; NULL: not given */
	struct rule_words words;
};

static int take_verdict(const struct options *options, struct wish *wish,
			struct error *err)
{
	const char *text = options_value(options, "policy");

	if (text && strcmp(text, "allow") && strcmp(text, "deny"))
		return options_usage(err, "--policy %s: allow or deny", text);
	wish->verdict = text;
	return 0;
}

static int check_range(const struct rule_words *words, size_t from,
		       const char *option, struct error *err)
{
	for (size_t i = from; i < words->count; i++)
		if (words->rules[i].host.kind != HOST_ADDRESS)
			return options_usage(err,
					     "--%s takes ranges such as "
					     "192.168.0.0/16",
					     option);
	return 0;
}

static int take_lists(const struct options *options, struct wish *wish,
		      struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		const char *text;
		size_t at = 0;

		while ((text = options_next(options, lists[i].option, &at))) {
			size_t from = wish->words.count;

			if (rule_words_add(&wish->words, text, lists[i].action,
					   NULL, err) < 0)
				return -1;
			if (lists[i].is_range &&
			    check_range(&wish->words, from, lists[i].option,
					err) < 0)
				return -1;
		}
	}
	return 0;
}

static int part_from_preset(const char *verdict, struct buffer *text,
			    struct error *err)
{
	struct policy_facts facts = { .has_default = true,
				      .allow = !strcmp(verdict, "allow"),
				      .preset = EMPTY_PRESET };

	return policy_rules_set_facts(text, &facts, err);
}

static int edit(void *ctx, struct buffer *text, struct error *err)
{
	const struct wish *wish = ctx;
	char line[POLICY_RULE_TEXT_SIZE];
	int changed = 0;

	if (wish->verdict) {
		changed = part_from_preset(wish->verdict, text, err);
		if (changed < 0)
			return -1;
	}
	for (size_t i = 0; i < wish->words.count; i++) {
		int added;

		policy_rule_text(&wish->words.rules[i], line, sizeof(line));
		added = policy_rules_add(text, line, err);
		if (added < 0)
			return -1;
		changed |= added;
	}
	return changed;
}

static int run(const struct options *options, struct error *err)
{
	AUTO_POLICY_PLACE struct policy_place place = POLICY_PLACE_INIT;
	struct wish wish = { NULL, RULE_WORDS_INIT };
	int result = -1;

	if (sandbox_open(options->words[0], &place.sandbox, err) == 0 &&
	    take_verdict(options, &wish, err) == 0 &&
	    take_lists(options, &wish, err) == 0 &&
	    policy_change(&place, edit, &wish, err) >= 0)
		result = 0;
	rule_words_release(&wish.words);
	return result;
}

#define LIST(name, value, help)                                         \
	{                                                               \
		name, '\0', OPTION_LIST, value, help, NULL, OPTION_HERE \
	}

static const struct option_row rows[] = {
	{ "policy", '\0', OPTION_VALUE, "allow|deny",
	  "what happens where no rule matches; takes the preset away",
	  "allow|deny", OPTION_HERE },
	LIST("allow-host", "HOST[:PORT]", "allow a host"),
	LIST("block-host", "HOST[:PORT]", "deny a host"),
	LIST("allow-cidr", "CIDR", "allow a range of addresses"),
	LIST("block-cidr", "CIDR", "deny a range of addresses"),
	LIST("bypass-host", "HOST[:PORT]",
	     "allow a host, and never look into its traffic"),
	LIST("bypass-cidr", "CIDR", "the same for a range of addresses"),
	{ .name = NULL },
};

const struct command command_network_proxy = {
	.name = "network proxy",
	.arguments = "NAME",
	.help = "change a sandbox's rules, as another tool spells them",
	.details = "Calls add up. `bawn policy` says the same in fewer words, "
		   "and can take rules back.",
	.options = rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = run,
};
