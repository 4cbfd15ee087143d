/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.c - the table of commands
 */
#include "cli/command.h"

#include <string.h>

#include "base/buffer.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/spelling.h"

const struct option_row command_list_rows[] = {
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ "quiet", 'q', OPTION_FLAG, NULL, "print names only", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

/* In the order of the help. */
const struct command *const command_rows[] = {
	&command_run,
	&command_create,
	&command_exec,
	&command_loop_report, /* before the word that it begins with */
	&command_loop,
	&command_init,
	&command_cp,
	&command_diff,
	&command_apply,
	&command_discard,
	&command_ls,
	&command_inspect,
	&command_mount,
	&command_umount,
	&command_policy_allow,
	&command_policy_deny,
	&command_policy_rm,
	&command_policy_ls,
	&command_policy_init,
	&command_policy_check,
	&command_policy_log,
	&command_policy_approvals,
	&command_policy_learn,
	&command_ports,
	&command_network_proxy,
	&command_network_log,
	&command_secret_set,
	&command_secret_ls,
	&command_secret_rm,
	&command_secret_login,
	&command_review,
	&command_env,
	&command_logs,
	&command_events,
	&command_stop,
	&command_checkpoint_ls,
	&command_checkpoint_rm,
	&command_checkpoint,
	&command_restore,
	&command_fork,
	&command_save,
	&command_rm,
	&command_undo,
	&command_prune,
	&command_reset,
	&command_top,
	&command_mcp,
	&command_template_ls,
	&command_template_inspect,
	&command_template_pull,
	&command_template_load,
	&command_template_build,
	&command_template_save,
	&command_template_push,
	&command_template_tag,
	&command_template_rm,
	&command_template_prune,
	&command_doctor,
	&command_completion,
	&command_version,
	&command_help,
	&command_complete,
	&command_options,
	&command_remove_later,
	NULL,
};

/* Length of the first word of a name of two; 0 for a name of one. */
static size_t group_length(const struct command *command)
{
	const char *space = strchr(command->name, ' ');

	return space ? (size_t)(space - command->name) : 0;
}

static bool in_group(const struct command *command, const char *group)
{
	size_t len = group_length(command);

	return len && strlen(group) == len &&
	       !memcmp(command->name, group, len);
}

static bool named(const struct command *command, int argc,
		  const char *const *argv)
{
	size_t len = group_length(command);

	if (!len)
		return !strcmp(command->name, argv[0]);
	return argc > 1 && in_group(command, argv[0]) &&
	       !strcmp(command->name + len + 1, argv[1]);
}

/* Whether the program has it under the name that it was called by. */
static bool spelled(const struct command *command)
{
	char word[32];

	/* of our own: completion, the removal at the end of --rm */
	if (command->name[0] == '_')
		return true;
	text_copy(word, sizeof(word), command->name);
	word[strcspn(word, " ")] = '\0';
	return spelling_has(word);
}

/* The next one that this spelling has; *at starts at 0. */
static const struct command *next_command(size_t *at)
{
	const struct command *command;

	do
		command = command_rows[(*at)++];
	while (command && !spelled(command));
	return command;
}

static const struct command *unknown(const char *word, const char *group,
				     struct error *err)
{
	const struct command *command;
	struct text_nearest nearest;
	char shown[64];
	size_t at = 0;

	text_nearest_init(&nearest, word);
	while ((command = next_command(&at))) {
		if (group && in_group(command, group))
			text_nearest_offer(&nearest,
					   command->name + strlen(group) + 1);
		else if (!group && command->name[0] != '_')
			text_nearest_offer(&nearest, command->name);
	}
	text_printable(word, strlen(word), shown, sizeof(shown));
	if (nearest.best)
		options_usage(err,
			      "unknown command \"%s\" (did you mean `%s "
			      "%s%s%s`?)",
			      shown, spelling_program(), group ? group : "",
			      group ? " " : "", nearest.best);
	else
		options_usage(err, "unknown command \"%s\" (see `%s help`)",
			      shown, spelling_program());
	return NULL;
}

const struct command *command_find(int argc, const char *const *argv,
				   int *words, const char **group,
				   struct error *err)
{
	const struct command *command;
	bool is_group = false;
	size_t at = 0;

	*group = NULL;
	while ((command = next_command(&at))) {
		is_group = is_group || in_group(command, argv[0]);
		if (!named(command, argc, argv))
			continue;
		*words = group_length(command) ? 2 : 1;
		return command;
	}
	if (!is_group)
		return unknown(argv[0], NULL, err);
	if (argc > 1 && argv[1][0] != '-')
		return unknown(argv[1], argv[0], err);
	*group = argv[0];
	return NULL;
}

void command_overview(struct buffer *out)
{
	buffer_printf(out,
		      "bawn runs coding agents in sandboxes that have their "
		      "own kernel.\n\n"
		      "usage: %s [-D] COMMAND [OPTIONS] [ARGUMENTS]\n\n"
		      "commands:\n",
		      spelling_program());
	for (size_t i = 0; command_rows[i]; i++) {
		const struct command *command = command_rows[i];

		if (!(command->flags & COMMAND_HIDDEN) && spelled(command))
			buffer_printf(out, "  %-18s %s\n", command->name,
				      command->help);
	}
	buffer_printf(out,
		      "\noptions:\n"
		      "  -D, --debug        say more on stderr\n"
		      "  -h, --help         show this help; after a command, "
		      "its help\n"
		      "      --version      show the version\n\n"
		      "The first steps: `%s run` opens a shell in a sandbox "
		      "for this folder.\n",
		      spelling_program());
}

void command_group_help(const char *group, struct buffer *out)
{
	bool first = true;

	for (size_t i = 0; command_rows[i]; i++) {
		if (!in_group(command_rows[i], group))
			continue;
		if (!first)
			buffer_printf(out, "\n");
		first = false;
		options_help(command_rows[i], out);
	}
}
