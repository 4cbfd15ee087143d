/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spelling.c - the names that this program is called by
 */
#include "cli/spelling.h"

#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"

#define METADATA_WORD "docker-cli-plugin-metadata"

static enum spelling current = SPELLING_BAWN;

static const struct {
	const char *file;    /* last part of argv[0] */
	const char *program; /* what the user types */
	const char *words;   /* its commands; NULL: all */
} spellings[] = {
	[SPELLING_BAWN] = { "bawn", "bawn", NULL },
	[SPELLING_DOCKER] = { "docker-sandbox", "docker sandbox",
			      "create exec help inspect ls network reset rm "
			      "run save stop version" },
	[SPELLING_SBX] = { "sbx", "sbx",
			   "cp create exec help ls policy ports rm run save "
			   "secret stop template version" },
	[SPELLING_RALPH] = { "ralph", "ralph", "loop" },
};

/* Of `sbx`: what a script may say first, and what nobody needs here. */
static const char *const needless[] = { "login", "logout" };

/* Options that the Docker client passes on, as they were typed. */
static const struct {
	const char *name;
	char letter;
	bool takes_value;
} client_options[] = {
	{ "--config", '\0', true },    { "--context", 'c', true },
	{ "--debug", 'D', false },     { "--host", 'H', true },
	{ "--log-level", 'l', true },  { "--tls", '\0', false },
	{ "--tlscacert", '\0', true }, { "--tlscert", '\0', true },
	{ "--tlskey", '\0', true },    { "--tlsverify", '\0', false },
};

enum spelling spelling_of(const char *program)
{
	const char *slash = strrchr(program, '/');
	const char *file = slash ? slash + 1 : program;

	current = SPELLING_BAWN;
	for (size_t i = 0; i < ARRAY_SIZE(spellings); i++)
		if (!strcmp(file, spellings[i].file))
			current = (enum spelling)i;
	if (!strcmp(file, "ralph.sh"))
		current = SPELLING_RALPH;
	return current;
}

enum spelling spelling_now(void)
{
	return current;
}

const char *spelling_program(void)
{
	return spellings[current].program;
}

bool spelling_has(const char *word)
{
	const char *words = spellings[current].words;
	size_t len = strlen(word);

	if (!words)
		return true;
	while (*words) {
		size_t part = strcspn(words, " ");

		if (part == len && !memcmp(words, word, len))
			return true;
		words += part;
		words += strspn(words, " ");
	}
	return false;
}

bool spelling_is_needless(const char *word)
{
	for (size_t i = 0; i < ARRAY_SIZE(needless); i++)
		if (current == SPELLING_SBX && !strcmp(word, needless[i]))
			return true;
	return false;
}

/* Words that this option takes, 0 when the client has no such option. */
static int option_words(const char *word, bool *debug)
{
	for (size_t i = 0; i < ARRAY_SIZE(client_options); i++) {
		const char *name = client_options[i].name;
		size_t len = strlen(name);
		bool is_letter = client_options[i].letter && word[0] == '-' &&
				 word[1] == client_options[i].letter;
		bool is_name = text_starts(word, name) &&
			       (word[len] == '=' || !word[len]);

		if (!is_letter && !is_name)
			continue;
		if (client_options[i].letter == 'D')
			*debug = true;
		if (!client_options[i].takes_value)
			return 1;
		/* --host=X, -HX: the value is in the same word */
		return (is_name ? word[len] : word[2]) ? 1 : 2;
	}
	return 0;
}

int spelling_skip(int argc, const char *const *argv,
		  struct spelling_prefix *prefix, struct error *err)
{
	int at = 0, words;

	*prefix = (struct spelling_prefix){ 0 };
	if (current != SPELLING_DOCKER)
		return 0;
	while (at < argc && (words = option_words(argv[at], &prefix->debug)))
		at += words;
	if (at < argc && !strcmp(argv[at], "help")) {
		prefix->help = true;
		at++;
	}
	prefix->words = at + 1;
	if (at < argc && !strcmp(argv[at], "sandbox"))
		return 0;
	return options_usage(err, "this is a plugin: call it as `docker "
				  "sandbox`, or use `bawn`");
}

bool spelling_metadata(int argc, const char *const *argv)
{
	if (current != SPELLING_DOCKER || argc < 1 ||
	    strcmp(argv[0], METADATA_WORD))
		return false;
	printf("{\"SchemaVersion\":\"0.1.0\",\"Vendor\":\"bawn\","
	       "\"Version\":\"%s\",\"ShortDescription\":\"Sandboxes with "
	       "their own kernel\"}\n",
	       BAWN_VERSION);
	return true;
}
