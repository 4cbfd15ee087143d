/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_options.c - command lines from bytes: NUL ends a word, the first byte
 * chooses the kind of command
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/options.h"
#include "lib/fuzz.h"

#define WORDS_MAX 64

static const struct option_row rows[] = {
	{ "interactive", 'i', OPTION_FLAG, NULL, "", NULL, OPTION_HERE },
	{ "memory", 'm', OPTION_VALUE, "SIZE", "", NULL, OPTION_HERE },
	{ "env", 'e', OPTION_LIST, "KEY=VALUE", "", NULL, OPTION_HERE },
	{ "policy", '\0', OPTION_VALUE, "P", "", NULL, OPTION_LATER },
	{ "refused", '\0', OPTION_FLAG, NULL, "why", NULL, OPTION_REFUSED },
	{ .name = NULL },
};

static void use(const struct options *options)
{
	size_t at = 0, seen = 0;

	for (size_t i = 0; i < options->word_count; i++)
		seen += strlen(options->words[i]);
	for (size_t i = 0; i < options->rest_count; i++)
		seen += strlen(options->rest[i]);
	while (options_next(options, "env", &at))
		seen++;
	if (options_value(options, "memory"))
		seen++;
	if (seen > 1u << 30)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct command command = { .name = "fuzz",
				   .arguments = "X",
				   .help = "",
				   .options = rows,
				   .max_words = COMMAND_ANY_WORDS };
	const char *argv[WORDS_MAX + 1];
	struct options options;
	struct error err = { 0 };
	char *text;
	int argc = 0;

	if (!size)
		return 0;
	command.flags = data[0] & (COMMAND_TAKES_REST | COMMAND_STOPS_EARLY |
				   COMMAND_RAW);
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	for (size_t i = 0; i < size && argc < WORDS_MAX;
	     i += strlen(text + i) + 1)
		argv[argc++] = text + i;
	argv[argc] = NULL;
	if (options_parse(&command, argc, argv, &options, &err) == 0)
		use(&options);
	else if (!err.text[0])
		abort();
	options_release(&options);
	free(text);
	return 0;
}
