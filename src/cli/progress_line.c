/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_line.c - a line of progress that fits a terminal
 */
#include "cli/progress_line.h"

#include <stdbool.h>
#include <string.h>

#include "base/progress.h"
#include "base/text.h"

#define CELLS_MAX 24
#define CELLS_MIN 8
#define BAR_EDGES 4 /* "  [" and "]" */
/* So much of a name is left for a bar's sake: enough to know it again. */
#define NAME_MIN 12
#define CUT_MARK ".."
#define NUMBERS_MAX 48
/* Of a part with its bar: digest, state, and "9.9 MB" with its space. */
#define PART_NAME 14
#define PART_STATE 11
#define PART_SIZE 7

static bool is_inside(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

static unsigned columns_of(const char *text)
{
	unsigned columns = 0;

	for (; *text; text++)
		columns += !is_inside(*text);
	return columns;
}

/* Bytes of the first columns; characters stay whole. */
static size_t bytes_of(const char *text, unsigned columns)
{
	unsigned seen = 0;
	size_t len = 0;

	for (; text[len]; len++)
		if (!is_inside(text[len]) && seen++ == columns)
			break;
	return len;
}

static void fill_bar(char bar[CELLS_MAX + BAR_EDGES + 1], unsigned cells,
		     uint64_t done, uint64_t total)
{
	unsigned filled = cells;

	if (done < total)
		filled = (unsigned)((double)done / (double)total * cells);
	bar[0] = '\0';
	if (!cells)
		return;
	memcpy(bar, "  [", 3);
	memset(bar + 3, '#', filled);
	memset(bar + 3 + filled, '.', cells - filled);
	memcpy(bar + 3 + cells, "]", 2);
}

/* A bar is as wide as the rest of its line lets it be, or there is none. */
static unsigned cells_beside(unsigned rest, unsigned width)
{
	if (width < rest + BAR_EDGES + CELLS_MIN)
		return 0;
	width -= rest + BAR_EDGES;
	return width < CELLS_MAX ? width : CELLS_MAX;
}

static unsigned cells_of_step(unsigned name, unsigned numbers, unsigned width)
{
	unsigned cells = cells_beside(name + numbers, width);

	if (cells)
		return cells;
	cells = cells_beside(NAME_MIN + numbers, width);
	return cells > CELLS_MIN ? CELLS_MIN : cells;
}

void progress_line_step(const char *text, uint64_t done, uint64_t total,
			uint64_t elapsed_ms, unsigned width,
			char line[PROGRESS_LINE_MAX])
{
	char numbers[NUMBERS_MAX], bar[CELLS_MAX + BAR_EDGES + 1];
	unsigned long long seconds = elapsed_ms / 1000;
	unsigned name = columns_of(text), rest;
	bool cut;

	if (done > total)
		done = total;
	if (total)
		text_format(numbers, sizeof(numbers), " %3u %%  %llu s",
			    (unsigned)((double)done * 100 / (double)total),
			    seconds);
	else
		text_format(numbers, sizeof(numbers), "  %llu s", seconds);
	rest = columns_of(numbers);
	fill_bar(bar, total ? cells_of_step(name, rest, width) : 0, done,
		 total);
	rest += columns_of(bar);
	cut = name + rest > width;
	if (cut && width > rest + strlen(CUT_MARK))
		name = width - rest - (unsigned)strlen(CUT_MARK);
	else if (cut)
		name = 0;
	text_format(line, PROGRESS_LINE_MAX, "%.*s%s%s%s",
		    (int)bytes_of(text, name), text, cut ? CUT_MARK : "", bar,
		    numbers);
	line[bytes_of(line, width)] = '\0';
}

void progress_line_part(const struct progress_part *part, unsigned width,
			char line[PROGRESS_LINE_MAX])
{
	unsigned fixed = PART_NAME + PART_STATE + PART_SIZE;
	unsigned cells = cells_beside(fixed, width);
	char bar[CELLS_MAX + BAR_EDGES + 1], size[16], state[16];

	/* an empty or full bar says most of what the state does */
	text_format(state, sizeof(state), "  %-9.9s", part->state);
	if (!cells) {
		state[0] = '\0';
		cells = cells_beside(fixed - PART_STATE, width);
	}
	fill_bar(bar, cells, part->done, part->total);
	text_from_size(part->total, size, sizeof(size));
	text_format(line, PROGRESS_LINE_MAX, "  %-12.12s%s%s %s", part->name,
		    state, bar, size);
	line[bytes_of(line, width)] = '\0';
}
