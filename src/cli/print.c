/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.c - JSON and questions
 */
#include "cli/print.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

#include "base/own.h"

void print_json(const json_t *value)
{
	AUTO_FREE char *text =
		json_dumps(value, JSON_INDENT(2) | JSON_ENCODE_ANY);

	if (text)
		puts(text);
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
