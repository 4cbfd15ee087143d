/* SPDX-License-Identifier: Apache-2.0 */
/*
 * options_help.c - --help from the option table
 */
#include "cli/options.h"

#include <string.h>

#include "base/buffer.h"
#include "base/text.h"
#include "cli/spelling.h"

#define HELP_COLUMN 28
#define HELP_WIDTH 80

/* Breaks text at spaces so that it fits beside the options. */
static void wrap(const char *text, size_t column, struct buffer *out)
{
	size_t at = column;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (at > column && at + 1 + len > HELP_WIDTH) {
			buffer_printf(out, "\n%*s", (int)column, "");
			at = column;
		} else if (at > column) {
			buffer_printf(out, " ");
			at++;
		}
		buffer_append(out, text, len);
		at += len;
		text += len;
		text += strspn(text, " ");
	}
	buffer_printf(out, "\n");
}

static void option_line(const struct option_row *row, struct buffer *out)
{
	char left[80], letter[8] = "    ";

	if (row->letter)
		text_format(letter, sizeof(letter), "-%c, ", row->letter);
	text_format(left, sizeof(left), "  %s--%s%s%s", letter, row->name,
		    row->value && row->kind != OPTION_MAYBE ? " " : "",
		    row->value ? row->value : "");
	if (strlen(left) + 2 > HELP_COLUMN)
		buffer_printf(out, "%s\n%*s", left, HELP_COLUMN, "");
	else
		buffer_printf(out, "%-*s", HELP_COLUMN, left);
	wrap(row->help, HELP_COLUMN, out);
}

void options_help(const struct command *command, struct buffer *out)
{
	/* a name that is one command is not followed by it */
	bool is_alone = spelling_now() == SPELLING_RALPH;
	const struct option_row *row;
	size_t at = 0;

	buffer_printf(out, "usage: %s%s%s%s%s%s\n\n", spelling_program(),
		      is_alone ? "" : " ", is_alone ? "" : command->name,
		      command->options ? " [OPTIONS]" : "",
		      *command->arguments ? " " : "", command->arguments);
	wrap(command->help, 0, out);
	if (command->details)
		buffer_printf(out, "\n%s\n", command->details);
	buffer_printf(out, "\noptions:\n");
	while ((row = options_row(command, &at)))
		if (row->status == OPTION_HERE)
			option_line(row, out);
}
