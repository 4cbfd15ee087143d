/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.c - JSON, questions, warnings
 */
#include "cli/print.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "base/own.h"
#include "base/text.h"

void print_json(const json_t *value)
{
	/* ASCII: the 8-bit controls of a terminal are characters to JSON */
	AUTO_FREE char *text = json_dumps(
		value, JSON_INDENT(2) | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

	if (text)
		puts(text);
}

void print_warning_of(const json_t *answer)
{
	const char *text =
		json_string_value(json_object_get(answer, "warning"));
	char shown[1024];

	if (!text)
		return;
	text_printable(text, strlen(text), shown, sizeof(shown));
	fprintf(stderr, "bawn: warning: %s\n", shown);
}

bool print_ask(const char *question)
{
	char answer[16];

	tcflush(0, TCIFLUSH);
	fprintf(stderr, "%s [y/N] ", question);
	fflush(stderr);
	if (!fgets(answer, sizeof(answer), stdin))
		return false;
	answer[strcspn(answer, "\n")] = '\0';
	return !strcasecmp(answer, "y") || !strcasecmp(answer, "yes");
}
