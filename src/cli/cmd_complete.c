/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_complete.c - what the completion scripts and the tests of the man pages
 * ask
 *
 * `bawn __complete WORD...`: the last word is the one being typed. One answer
 * a line, "word<TAB>help"; a line ":files" or ":folders" lets the shell add
 * its own.
 */
#include "cli/command.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/policy_set.h"
#include "cli/spelling.h"
#include "cli/store.h"
#include "provision/template.h"
#include "state/agents.h"
#include "undo/segment.h"

static void offer(const char *typed, const char *word, const char *help)
{
	if (text_starts(word, typed))
		printf("%s\t%s\n", word, help);
}

static void offer_agents(const char *typed)
{
	json_t *agents = agents_load(NULL), *agent;
	size_t i;

	json_array_foreach(agents, i, agent)
		offer(typed, agent_text(agent, "name"), "agent");
	json_decref(agents);
}

static void offer_sandboxes(const char *typed)
{
	AUTO_STORE struct store store = STORE_INIT;

	if (store_open(&store, NULL) < 0)
		return;
	for (size_t i = 0; i < store.count; i++)
		offer(typed, store.names[i], "sandbox");
}

static void offer_labels(const char *typed, const struct sandbox *sandbox)
{
	AUTO_FREE struct checkpoint *list = NULL;
	size_t count = 0;

	if (checkpoint_list(sandbox, &list, &count, NULL) < 0)
		return;
	for (size_t i = 0; i < count; i++)
		offer(typed, list[i].label, "checkpoint");
}

static void offer_marks(const char *typed, const struct sandbox *sandbox)
{
	AUTO_CLOSE int undo =
		openat(sandbox->folder, "files/undo",
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct segments segments = { 0 };

	if (undo < 0 || segments_load(undo, &segments, NULL) < 0)
		return;
	for (size_t i = 0; i < segments.count; i++)
		offer(typed, segments.list[i].label, "mark");
	segments_release(&segments);
}

/* The sandbox that one of the words before names; -1: none does. */
static int find_named(const char *const *words, int count,
		      struct sandbox *sandbox)
{
	for (int i = 0; i < count; i++)
		if (words[i][0] != '-' &&
		    sandbox_open(words[i], sandbox, NULL) == 0)
			return 0;
	return -1;
}

/* What a sandbox has; where none is named yet, and one can be, sandboxes. */
static void offer_of_sandbox(const char *const *words, int count,
			     const char *what)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	const char *typed = words[count];

	if (find_named(words, count, &sandbox) < 0) {
		if (!strcmp(what, COMPLETE_STATES))
			offer_sandboxes(typed);
	} else if (!strcmp(what, COMPLETE_MARKS)) {
		offer_marks(typed, &sandbox);
	} else {
		offer_labels(typed, &sandbox);
	}
}

/* One side of `bawn cp`. */
static void offer_sandbox_paths(const char *typed)
{
	AUTO_STORE struct store store = STORE_INIT;
	char word[80];

	if (store_open(&store, NULL) < 0)
		return;
	for (size_t i = 0; i < store.count; i++) {
		text_format(word, sizeof(word), "%s:", store.names[i]);
		offer(typed, word, "sandbox");
	}
}

static void offer_template(void *ctx, const struct template *template)
{
	offer(ctx, template->name, "template");
}

static void offer_commands(const char *typed)
{
	for (size_t i = 0; command_rows[i]; i++) {
		const char *name = command_rows[i]->name;
		char word[64];

		text_copy(word, sizeof(word), name);
		word[strcspn(word, " ")] = '\0';
		if (command_rows[i]->flags & COMMAND_HIDDEN ||
		    !spelling_has(word))
			continue;
		/* a group is offered once, by its first row */
		if (strcmp(word, name) && i > 0 &&
		    text_starts(command_rows[i - 1]->name, word))
			continue;
		offer(typed, word, command_rows[i]->help);
	}
}

static void offer_subcommands(const char *group, const char *typed)
{
	size_t len = strlen(group);

	for (size_t i = 0; command_rows[i]; i++)
		if (text_starts(command_rows[i]->name, group) &&
		    command_rows[i]->name[len] == ' ')
			offer(typed, command_rows[i]->name + len + 1,
			      command_rows[i]->help);
}

static void offer_choices(const char *typed, const char *choices)
{
	char word[64];

	while (*choices) {
		size_t len = strcspn(choices, "|");

		text_format(word, sizeof(word), "%.*s", (int)len, choices);
		offer(typed, word, "");
		choices += len + (choices[len] == '|');
	}
}

static void offer_presets(const char *typed)
{
	char **names = policy_set_presets();

	for (char **name = names; *name; name++)
		offer(typed, *name, "preset");
	policy_set_presets_free(names);
}

/* words[count] is being typed. */
static void offer_values(const char *const *words, int count, const char *what)
{
	const char *typed = words[count];

	if (!what)
		return;
	if (!strcmp(what, COMPLETE_LABELS) || !strcmp(what, COMPLETE_MARKS) ||
	    !strcmp(what, COMPLETE_STATES))
		offer_of_sandbox(words, count, what);
	if (!strcmp(what, COMPLETE_SANDBOXES) || !strcmp(what, COMPLETE_RUN))
		offer_sandboxes(typed);
	if (!strcmp(what, COMPLETE_RUN))
		offer_agents(typed);
	if (!strcmp(what, COMPLETE_RUN) || !strcmp(what, COMPLETE_FOLDERS))
		puts(":folders");
	if (!strcmp(what, COMPLETE_COPY))
		offer_sandbox_paths(typed);
	if (!strcmp(what, COMPLETE_FILES) || !strcmp(what, COMPLETE_COPY))
		puts(":files");
	if (!strcmp(what, COMPLETE_TEMPLATES)) {
		template_each(offer_template, (void *)typed, NULL);
		offer_choices(typed, "base|tiny");
	}
	if (!strcmp(what, COMPLETE_PRESETS))
		offer_presets(typed);
	if (!strcmp(what, COMPLETE_COMMANDS))
		offer_commands(typed);
	if (what[0] != '@')
		offer_choices(typed, what);
}

static void offer_options(const struct command *command, const char *typed)
{
	const struct option_row *row;
	char word[64];
	size_t at = 0;

	while ((row = options_row(command, &at))) {
		if (row->status != OPTION_HERE)
			continue;
		text_format(word, sizeof(word), "--%s", row->name);
		offer(typed, word, row->help);
	}
}

/* The option that the word before the typed one is, if it takes a value. */
static const struct option_row *waiting_option(const struct command *command,
					       const char *word)
{
	const struct option_row *row;
	size_t at = 0;

	while ((row = options_row(command, &at))) {
		bool is_long =
			text_starts(word, "--") && !strcmp(word + 2, row->name);
		bool is_short = word[0] == '-' && word[1] && !word[2] &&
				word[1] == row->letter;

		if (row->kind != OPTION_FLAG && row->kind != OPTION_MAYBE &&
		    (is_long || is_short))
			return row;
	}
	return NULL;
}

static int complete(const struct options *options, struct error *err)
{
	int count = (int)options->rest_count;
	const char *const *words = (const char *const *)options->rest;
	const char *typed = count ? words[count - 1] : "";
	const struct option_row *option;
	const struct command *command;
	const char *group = NULL;
	int used = 0;

	if (count <= 1) {
		offer_commands(typed);
		return 0;
	}
	command = command_find(count - 1, words, &used, &group, err);
	if (group && count == 2)
		offer_subcommands(group, typed);
	if (!command)
		return 0;
	option = count - 1 > used ? waiting_option(command, words[count - 2])
				  : NULL;
	if (option)
		offer_values(words + used, count - used - 1, option->completes);
	else if (typed[0] == '-')
		offer_options(command, typed);
	else
		offer_values(words + used, count - used - 1,
			     command->completes);
	return 0;
}

/* `words` are kept as they are: they may look like options. */
const struct command command_complete = {
	.name = "__complete",
	.arguments = "WORD...",
	.help = "answer a completion script",
	.flags = COMMAND_HIDDEN | COMMAND_RAW,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = complete,
};

static void list_options(const struct command *command)
{
	const struct option_row *row;
	size_t at = 0;

	while ((row = options_row(command, &at))) {
		if (row->status != OPTION_HERE)
			continue;
		printf("%s\t--%s\n", command->name, row->name);
		if (row->letter)
			printf("%s\t-%c\n", command->name, row->letter);
	}
}

static int list_all(const struct options *options, struct error *err)
{
	for (size_t i = 0; command_rows[i]; i++)
		if (!(command_rows[i]->flags & COMMAND_HIDDEN))
			list_options(command_rows[i]);
	return 0;
}

const struct command command_options = {
	.name = "__options",
	.arguments = "",
	.help = "list every option of every command",
	.flags = COMMAND_HIDDEN,
	.failure_code = 1,
	.run = list_all,
};
