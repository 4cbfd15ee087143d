/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.c - aligned columns on stdout
 */
#include "cli/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define CELL_MAX 512
#define GAP 2

struct table {
	const char *const *headings;
	size_t columns, cells, room;
	char **texts;
};

struct table *table_new(const char *const *headings)
{
	struct table *table = xcalloc(1, sizeof(*table));

	table->headings = headings;
	while (headings[table->columns])
		table->columns++;
	return table;
}

void table_free(struct table *table)
{
	for (size_t i = 0; i < table->cells; i++)
		free(table->texts[i]);
	free(table->texts);
	free(table);
}

void table_cell(struct table *table, const char *text)
{
	char safe[CELL_MAX];

	if (table->cells == table->room) {
		table->room = table->room * 2 + 16;
		table->texts =
			xrealloc(table->texts, table->room * sizeof(char *));
	}
	text_printable(text, strlen(text), safe, sizeof(safe));
	table->texts[table->cells++] = xstrdup(safe);
}

/* Characters, not bytes; wide ones count as one. */
static size_t width(const char *text)
{
	size_t n = 0;

	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static bool coloured(void)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	return isatty(1) && !(no && *no) && term && strcmp(term, "dumb");
}

static void print_row(const struct table *table, const char *const *cells,
		      const size_t *widths)
{
	for (size_t c = 0; c < table->columns; c++) {
		fputs(cells[c], stdout);
		if (c + 1 < table->columns)
			printf("%*s", (int)(widths[c] - width(cells[c]) + GAP),
			       "");
	}
}

static void print(const struct table *table, bool with_headings)
{
	AUTO_FREE size_t *widths = xcalloc(table->columns, sizeof(*widths));
	bool colour = coloured();

	for (size_t c = 0; with_headings && c < table->columns; c++)
		widths[c] = width(table->headings[c]);
	for (size_t i = 0; i < table->cells; i++) {
		size_t w = width(table->texts[i]);

		if (w > widths[i % table->columns])
			widths[i % table->columns] = w;
	}
	if (with_headings) {
		fputs(colour ? "\033[1m" : "", stdout);
		print_row(table, table->headings, widths);
		fputs(colour ? "\033[0m\n" : "\n", stdout);
	}
	for (size_t i = 0; i + table->columns <= table->cells;
	     i += table->columns) {
		print_row(table, (const char *const *)&table->texts[i], widths);
		putchar('\n');
	}
}

void table_print(const struct table *table)
{
	print(table, true);
}

void table_print_rows(const struct table *table)
{
	print(table, false);
}

void table_ago(int64_t then, char *dst, size_t size)
{
	static const struct {
		int64_t seconds;
		const char *name;
	} units[] = { { 86400, "day" },
		      { 3600, "hour" },
		      { 60, "minute" },
		      { 1, "second" } };
	int64_t past = time(NULL) - then;

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		int64_t n = past / units[i].seconds;

		if (n < 1)
			continue;
		text_format(dst, size, "%lld %s%s ago", (long long)n,
			    units[i].name, n == 1 ? "" : "s");
		return;
	}
	text_copy(dst, size, "just now");
}

void table_time(int64_t when, char *dst, size_t size)
{
	time_t seconds = (time_t)when;
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) ||
	    !strftime(dst, size, "%Y-%m-%dT%H:%M:%SZ", &tm))
		text_copy(dst, size, "");
}
