/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options.c - one option table for each command: parsing
 */
#include "cli/options.h"

#include <stdarg.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/spelling.h"

const struct option_row options_global[] = {
	{ .name = "help", .letter = 'h', .help = "show this help" },
	{ .name = "debug", .letter = 'D', .help = "say more on stderr" },
	{ .name = NULL },
};

struct parser {
	struct options *options;
	const char *const *argv;
	int argc, next;
	struct error *err;
};

int options_usage(struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	error_set(err, 0, "%s", text);
	if (err)
		err->code = OPTIONS_USAGE;
	return -1;
}

const struct option_row *options_row(const struct command *command, size_t *at)
{
	const struct option_row *tables[] = { command->options,
					      command->options_too,
					      command->options_more,
					      options_global };
	size_t skip = (*at)++;

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct option_row *row = tables[t]; row && row->name;
		     row++)
			if (skip-- == 0)
				return row;
	return NULL;
}

static const struct option_row *
find_row(const struct command *command,
	 bool (*match)(const struct option_row *row, const void *key),
	 const void *key)
{
	const struct option_row *row;
	size_t at = 0;

	while ((row = options_row(command, &at)))
		if (match(row, key))
			return row;
	return NULL;
}

struct name_key {
	const char *name;
	size_t len;
};

static bool has_name(const struct option_row *row, const void *key)
{
	const struct name_key *name = key;

	return strlen(row->name) == name->len &&
	       !memcmp(row->name, name->name, name->len);
}

static bool has_letter(const struct option_row *row, const void *key)
{
	return row->letter && row->letter == *(const char *)key;
}

static bool note_distance(const struct option_row *row, const void *key)
{
	if (row->status == OPTION_HERE)
		text_nearest_offer((struct text_nearest *)key, row->name);
	return false;
}

static int unknown_long(struct parser *parser, const struct name_key *key)
{
	char name[64], shown[80];
	struct text_nearest nearest;
	const struct command *command = parser->options->command;

	text_format(name, sizeof(name), "%.*s", (int)(key->len % 1000),
		    key->name);
	text_printable(name, strlen(name), shown, sizeof(shown));
	text_nearest_init(&nearest, name);
	find_row(command, note_distance, &nearest);
	if (nearest.best)
		return options_usage(parser->err,
				     "unknown option --%s (did you mean "
				     "--%s?)",
				     shown, nearest.best);
	return options_usage(parser->err,
			     "unknown option --%s (see `%s %s --help`)", shown,
			     spelling_program(), command->name);
}

static int take(struct parser *parser, const struct option_row *row,
		const char *value)
{
	struct options *options = parser->options;

	if (row->status == OPTION_LATER)
		return error_set(parser->err, 0,
				 "--%s: not available yet in this version",
				 row->name);
	if (row->status == OPTION_REFUSED)
		return error_set(parser->err, 0, "--%s: refused: %s", row->name,
				 row->help);
	if (row == &options_global[0])
		options->help = true;
	else if (row == &options_global[1])
		options->debug = true;
	else
		options->given[options->given_count++] =
			(struct option_given){ row, value };
	return 0;
}

static int missing_value(struct parser *parser, const struct option_row *row)
{
	return options_usage(parser->err, "--%s needs a value (%s)", row->name,
			     row->value ? row->value : "VALUE");
}

/* text begins after the two dashes */
static int parse_long(struct parser *parser, const char *text)
{
	const char *equals = strchr(text, '=');
	struct name_key key = { text, equals ? (size_t)(equals - text)
					     : strlen(text) };
	const struct option_row *row =
		find_row(parser->options->command, has_name, &key);

	if (!row)
		return unknown_long(parser, &key);
	if (row->kind == OPTION_FLAG && equals)
		return options_usage(parser->err, "--%s takes no value",
				     row->name);
	if (row->kind == OPTION_FLAG || row->status != OPTION_HERE)
		return take(parser, row, NULL);
	if (equals)
		return take(parser, row, equals + 1);
	if (row->kind == OPTION_MAYBE)
		return take(parser, row, "");
	if (parser->next >= parser->argc)
		return missing_value(parser, row);
	return take(parser, row, parser->argv[parser->next++]);
}

/* text begins after the dash: "it", "m4G", "m" followed by another word */
static int parse_letters(struct parser *parser, const char *text)
{
	for (; *text; text++) {
		const struct option_row *row =
			find_row(parser->options->command, has_letter, text);
		char shown[8];

		text_printable(text, 1, shown, sizeof(shown));
		if (!row)
			return options_usage(parser->err,
					     "unknown option -%s (see `%s %s "
					     "--help`)",
					     shown, spelling_program(),
					     parser->options->command->name);
		if (row->kind == OPTION_FLAG || row->status != OPTION_HERE) {
			if (take(parser, row, NULL) < 0)
				return -1;
			continue;
		}
		if (text[1])
			return take(parser, row, text + 1 + (text[1] == '='));
		if (parser->next >= parser->argc)
			return missing_value(parser, row);
		return take(parser, row, parser->argv[parser->next++]);
	}
	return 0;
}

static void take_rest(struct parser *parser)
{
	struct options *options = parser->options;

	options->rest = xcalloc((size_t)(parser->argc - parser->next) + 1,
				sizeof(char *));
	while (parser->next < parser->argc)
		options->rest[options->rest_count++] =
			parser->argv[parser->next++];
}

static int parse_word(struct parser *parser, const char *word, bool *end)
{
	struct options *options = parser->options;
	unsigned flags = options->command->flags;

	if (!*end && !strcmp(word, "--")) {
		if (flags & COMMAND_TAKES_REST)
			take_rest(parser);
		*end = true;
		return 0;
	}
	if (!*end && text_starts(word, "--"))
		return parse_long(parser, word + 2);
	if (!*end && word[0] == '-' && word[1])
		return parse_letters(parser, word + 1);
	options->words[options->word_count++] = word;
	if (flags & COMMAND_STOPS_EARLY) {
		/* exec NAME -- CMD is as good as exec NAME CMD */
		if (parser->next < parser->argc &&
		    !strcmp(parser->argv[parser->next], "--"))
			parser->next++;
		take_rest(parser);
	}
	return 0;
}

static int check_words(const struct options *options, struct error *err)
{
	const struct command *command = options->command;

	if (options->word_count >= command->min_words &&
	    options->word_count <= command->max_words)
		return 0;
	return options_usage(err, "usage: %s %s%s%s", spelling_program(),
			     command->name, *command->arguments ? " " : "",
			     command->arguments);
}

int options_parse(const struct command *command, int argc,
		  const char *const *argv, struct options *options,
		  struct error *err)
{
	struct parser parser = { options, argv, argc, 0, err };
	size_t letters = 0;
	bool end = false;

	memset(options, 0, sizeof(*options));
	options->command = command;
	/* "-iiii" gives as many as it has letters */
	for (int i = 0; i < argc; i++)
		letters += strlen(argv[i]) + 1;
	options->given = xcalloc(letters + 1, sizeof(*options->given));
	options->words = xcalloc((size_t)argc + 1, sizeof(char *));
	if (command->flags & COMMAND_RAW)
		take_rest(&parser);
	while (parser.next < argc && !options->help)
		if (parse_word(&parser, argv[parser.next++], &end) < 0)
			return -1;
	return options->help ? 0 : check_words(options, err);
}

void options_release(struct options *options)
{
	free(options->given);
	free(options->words);
	free(options->rest);
	memset(options, 0, sizeof(*options));
}

bool options_flag(const struct options *options, const char *name)
{
	for (size_t i = 0; i < options->given_count; i++)
		if (!strcmp(options->given[i].row->name, name))
			return true;
	return false;
}

const char *options_next(const struct options *options, const char *name,
			 size_t *at)
{
	while (*at < options->given_count) {
		const struct option_given *given = &options->given[(*at)++];

		if (!strcmp(given->row->name, name))
			return given->value;
	}
	return NULL;
}

const char *options_value(const struct options *options, const char *name)
{
	const char *last = NULL, *value;
	size_t at = 0;

	while ((value = options_next(options, name, &at)))
		last = value;
	return last;
}
