/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_line.c - the line that shows what goes on, in as many columns as there
 * are
 */
#include "loop/live_line.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "loop/duration.h"

#define GAP 2
#define TASK_COLUMNS 30
#define ACTION_COLUMNS 12 /* with less it says nothing */
#define WIDE_FROM 0x1100  /* about: East Asian letters and emoji */

enum part {
	PART_ITERATION,
	PART_TIME,
	PART_TOKENS,
	PART_COST,
	PART_DENIED,
	PART_TASK,

	PARTS,
};

/* Bytes and columns of the character at text; of a broken one what is there. */
static size_t step(const char *text, size_t *columns)
{
	uint8_t first = (uint8_t)text[0];
	size_t len = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	uint32_t value = 0;

	len = strnlen(text, len);
	if (len == 3)
		value = (first & 0x0fu) << 12 | ((uint8_t)text[1] & 0x3fu) << 6;
	*columns = len == 4 || value >= WIDE_FROM ? 2 : 1;
	return len;
}

size_t live_line_width(const char *text)
{
	size_t width = 0, columns, len;

	for (; *text; text += len) {
		len = step(text, &columns);
		width += columns;
	}
	return width;
}

/* Appends text, cut to so many columns; true when something was. */
static bool append(char *out, const char *text, size_t room)
{
	size_t at = strlen(out), used = 0, columns, len;
	bool is_cut = live_line_width(text) > room;

	if (is_cut && room < 4)
		return false;
	if (is_cut)
		room -= 3;
	for (; *text; text += len, used += columns) {
		len = step(text, &columns);
		if (used + columns > room || at + len + 4 > LIVE_LINE_MAX)
			break;
		memcpy(out + at, text, len);
		at += len;
	}
	if (is_cut && at + 4 <= LIVE_LINE_MAX) {
		memcpy(out + at, "...", 3);
		at += 3;
	}
	out[at] = '\0';
	return true;
}

static void say_count(uint64_t count, char *out, size_t size)
{
	if (count < 10000)
		(void)text_format(out, size, "%llu tokens",
				  (unsigned long long)count);
	else if (count < 1000000)
		(void)text_format(out, size, "%.1fk tokens",
				  (double)count / 1e3);
	else
		(void)text_format(out, size, "%.1fM tokens",
				  (double)count / 1e6);
}

static void say_parts(const struct live_facts *facts, char parts[PARTS][128])
{
	(void)text_format(parts[PART_ITERATION], sizeof(parts[0]), "%u/%u",
			  facts->iteration, facts->max_iterations);
	duration_text(facts->seconds, parts[PART_TIME], sizeof(parts[0]));
	say_count(facts->tokens, parts[PART_TOKENS], sizeof(parts[0]));
	(void)text_format(parts[PART_COST], sizeof(parts[0]), "%.2f USD",
			  (double)facts->cost_micros / 1e6);
	(void)text_format(parts[PART_DENIED], sizeof(parts[0]), "%u blocked",
			  facts->denied);
	parts[PART_TASK][0] = '\0';
	(void)append(parts[PART_TASK], facts->task, TASK_COLUMNS);
}

/* Which parts are shown, so that the action has some room, too. */
static void choose(const char parts[PARTS][128], const struct live_facts *facts,
		   size_t room, bool shown[PARTS])
{
	static const enum part order[] = { PART_ITERATION, PART_TIME,
					   PART_DENIED,    PART_TOKENS,
					   PART_COST,      PART_TASK };
	size_t used = facts->action[0] ? ACTION_COLUMNS : 0;

	static_assert(ARRAY_SIZE(order) == PARTS, "each part has its turn");
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		enum part part = order[i];
		size_t width = live_line_width(parts[part]);

		/* the first says at least which iteration it is */
		shown[part] = width && (!i || used + GAP + width <= room);
		if (shown[part])
			used += width + (i ? GAP : 0);
	}
	if (!facts->denied && !shown[PART_COST])
		shown[PART_DENIED] = false;
}

void live_line_make(const struct live_facts *facts, unsigned columns,
		    char out[LIVE_LINE_MAX])
{
	size_t room = columns > 1 ? columns - 1 : 1;
	char parts[PARTS][128];
	bool shown[PARTS] = { 0 };
	size_t used = 0;

	say_parts(facts, parts);
	choose((const char(*)[128])parts, facts, room, shown);
	out[0] = '\0';
	for (int i = 0; i < PARTS; i++) {
		if (!shown[i])
			continue;
		if (used)
			(void)append(out, "  ", GAP);
		(void)append(out, parts[i], room - used);
		used = live_line_width(out);
	}
	if (facts->action[0] && used + GAP + 4 <= room) {
		(void)append(out, "  ", GAP);
		(void)append(out, facts->action, room - used - GAP);
	}
}
