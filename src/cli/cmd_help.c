/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_help.c - help, version, completion scripts
 */
#include "cli/command.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/print.h"
#include "completion_scripts.h" /* made by the build of completions/ */
#include "state/paths.h"

#define HELP_MAX (64u * 1024)
#define TOPIC_MAX 8192
#define LETTERS "abcdefghijklmnopqrstuvwxyz"

AUTO_DEFINE(json, json_t *, json_decref)

/* A topic is a file of data/help; false when the word is none. */
static bool add_topic(const char *word, struct buffer *out)
{
	char name[32], text[TOPIC_MAX];
	AUTO_FREE char *path = NULL;
	AUTO_CLOSE int fd = -1;
	ssize_t len;

	if (strspn(word, LETTERS) != strlen(word) || !*word ||
	    text_format(name, sizeof(name), "help/%s", word) < 0)
		return false;
	path = paths_data_file(name, NULL);
	fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	len = fd < 0 ? -1 : read(fd, text, sizeof(text));
	if (len <= 0)
		return false;
	buffer_append(out, text, (size_t)len);
	return true;
}

static int help(const struct options *options, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(HELP_MAX);
	const struct command *command;
	const char *group = NULL;
	int words;

	if (!options->word_count) {
		command_overview(&text);
	} else if (options->word_count > 1 ||
		   !add_topic(options->words[0], &text)) {
		command = command_find((int)options->word_count, options->words,
				       &words, &group, err);
		if (group)
			command_group_help(group, &text);
		else if (!command)
			return -1;
		else
			options_help(command, &text);
	}
	fwrite(text.data, 1, text.len, stdout);
	return 0;
}

const struct command command_help = {
	.name = "help",
	.arguments = "[COMMAND | TOPIC]",
	.help = "show all commands, what one does, or a topic: policy, "
		"secrets, workspace, loop",
	.completes = COMPLETE_COMMANDS,
	.max_words = 2,
	.failure_code = 1,
	.run = help,
};

static int version(const struct options *options, struct error *err)
{
	AUTO(json) json_t *facts = NULL;

	if (!options_flag(options, "json")) {
		printf("bawn %s\n", BAWN_VERSION);
		return 0;
	}
	facts = json_pack("{s:s}", "version", BAWN_VERSION);
	print_json(facts);
	return 0;
}

static const struct option_row version_rows[] = {
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_version = {
	.name = "version",
	.arguments = "",
	.help = "show the version",
	.options = version_rows,
	.failure_code = 1,
	.run = version,
};

static int completion(const struct options *options, struct error *err)
{
	static const struct {
		const char *shell, *script;
	} scripts[] = {
		{ "bash", completion_bash },
		{ "zsh", completion_zsh },
		{ "fish", completion_fish },
	};

	for (size_t i = 0; i < ARRAY_SIZE(scripts); i++)
		if (!strcmp(scripts[i].shell, options->words[0])) {
			fputs(scripts[i].script, stdout);
			return 0;
		}
	return options_usage(err, "completion for bash, zsh or fish");
}

const struct command command_completion = {
	.name = "completion",
	.arguments = "bash|zsh|fish",
	.help = "print the completion script of a shell",
	.completes = "bash|zsh|fish",
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = completion,
};
