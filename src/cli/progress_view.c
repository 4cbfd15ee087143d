/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_view.c - progress on stderr
 */
#include "cli/progress_view.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/progress.h"
#include "base/text.h"
#include "cli/progress_line.h"
#include "cli/terminal.h"

#define REDRAW_MS 100
#define PARTS_SHOWN_MAX 40

static struct {
	char text[160];
	uint64_t started_ms, drawn_ms;
	bool line_shown;
	unsigned parts_shown; /* lines above it */
	/* what they say; drawn with the line */
	char parts[PARTS_SHOWN_MAX][PROGRESS_LINE_MAX];
	unsigned part_count;
} view;

static bool rewritable(void)
{
	const char *term = getenv("TERM");

	return isatty(2) && term && strcmp(term, "dumb");
}

/* Up to the first line of what was drawn before, emptied. */
static void go_back(void)
{
	fprintf(stderr, "\r\033[K");
	for (; view.parts_shown > 0; view.parts_shown--)
		fprintf(stderr, "\033[1A\033[K");
}

static void draw_parts(void)
{
	for (unsigned i = 0; i < view.part_count; i++)
		fprintf(stderr, "%s\n", view.parts[i]);
	view.parts_shown = view.part_count;
}

/* The last column stays free: some terminals begin a new line behind it. */
static unsigned width_of(uint16_t *rows)
{
	uint16_t cols;

	terminal_size(2, rows, &cols);
	return cols > 1 ? cols - 1u : 1u;
}

static void draw(uint64_t done, uint64_t total)
{
	char line[PROGRESS_LINE_MAX];
	uint16_t rows;

	progress_line_step(view.text, done, total,
			   loop_now_ms() - view.started_ms, width_of(&rows),
			   line);
	go_back();
	draw_parts();
	fprintf(stderr, "%s", line);
	fflush(stderr);
	view.line_shown = true;
	view.drawn_ms = loop_now_ms();
}

/* Those that something happens to come first, if there is no room for all. */
static void parts(void *ctx, const struct progress_part *list, size_t count)
{
	size_t room, left = count;
	unsigned width;
	uint16_t rows;

	if (!rewritable())
		return;
	width = width_of(&rows);
	room = rows > 3 ? rows - 2u : 1u;
	if (room > PARTS_SHOWN_MAX)
		room = PARTS_SHOWN_MAX;
	view.part_count = 0;
	for (size_t i = 0; i < count && view.part_count < room; i++, left--) {
		const struct progress_part *part = &list[i];
		bool busy = part->done > 0 && part->done < part->total;

		if (left > room - view.part_count && !busy)
			continue;
		progress_line_part(part, width, view.parts[view.part_count++]);
	}
}

static void step(void *ctx, const char *text)
{
	progress_view_clear();
	text_printable(text, strlen(text), view.text, sizeof(view.text));
	view.started_ms = loop_now_ms();
	view.drawn_ms = 0;
	if (rewritable())
		draw(0, 0);
	else
		fprintf(stderr, "bawn: %s\n", view.text);
}

static void update(void *ctx, uint64_t done, uint64_t total)
{
	uint64_t now = loop_now_ms();

	if (!rewritable() || !view.text[0])
		return;
	if (now - view.drawn_ms >= REDRAW_MS)
		draw(done, total);
}

static void done_step(void *ctx)
{
	progress_view_clear();
	view.text[0] = '\0';
	view.part_count = 0;
}

void progress_view_retitle(const char *text)
{
	text_printable(text, strlen(text), view.text, sizeof(view.text));
}

void progress_view_clear(void)
{
	if (!view.line_shown)
		return;
	go_back();
	fflush(stderr);
	view.line_shown = false;
}

void progress_view_forget(void)
{
	static const char clear[] = "\r\033[K", up[] = "\033[1A\033[K";

	if (!view.line_shown || write(2, clear, sizeof(clear) - 1) < 0)
		return;
	for (unsigned i = 0; i < view.parts_shown; i++)
		if (write(2, up, sizeof(up) - 1) < 0)
			return;
}

const struct progress *progress_view(void)
{
	static const struct progress progress = {
		.step = step,
		.update = update,
		.done = done_step,
		.parts = parts,
	};

	return &progress;
}
