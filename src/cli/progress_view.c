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
#include "cli/terminal.h"

#define REDRAW_MS 100
#define BAR_CELLS 24
#define PARTS_SHOWN_MAX 40

static struct {
	char text[160];
	uint64_t started_ms, drawn_ms;
	bool line_shown;
	unsigned parts_shown; /* lines above it */
	/* what they say; drawn with the line */
	char parts[PARTS_SHOWN_MAX][120];
	unsigned part_count;
} view;

static bool rewritable(void)
{
	const char *term = getenv("TERM");

	return isatty(2) && term && strcmp(term, "dumb");
}

static void fill_bar(char bar[BAR_CELLS + 1], uint64_t done, uint64_t total)
{
	unsigned filled = BAR_CELLS;

	if (done < total)
		filled = (unsigned)((double)done / (double)total * BAR_CELLS);
	memset(bar, '.', BAR_CELLS);
	memset(bar, '#', filled);
	bar[BAR_CELLS] = '\0';
}

/* Up to the first line of what was drawn before, emptied. */
static void go_back(void)
{
	fprintf(stderr, "\r\033[K");
	for (; view.parts_shown > 0; view.parts_shown--)
		fprintf(stderr, "\033[1A\033[K");
}

static void draw_parts(unsigned width)
{
	for (unsigned i = 0; i < view.part_count; i++)
		fprintf(stderr, "%.*s\n", (int)width, view.parts[i]);
	view.parts_shown = view.part_count;
}

static void draw(uint64_t done, uint64_t total)
{
	char line[256], bar[BAR_CELLS + 1], seconds[32];
	unsigned long long elapsed = loop_now_ms() - view.started_ms;
	uint16_t rows, cols;

	text_format(seconds, sizeof(seconds), "%llu s", elapsed / 1000);
	if (total) {
		if (done > total)
			done = total;
		fill_bar(bar, done, total);
		text_format(line, sizeof(line), "%s  [%s] %3u %%  %s",
			    view.text, bar,
			    (unsigned)((double)done * 100 / (double)total),
			    seconds);
	} else {
		text_format(line, sizeof(line), "%s  %s", view.text, seconds);
	}
	terminal_size(2, &rows, &cols);
	go_back();
	draw_parts(cols > 1 ? cols - 1u : 1u);
	fprintf(stderr, "%.*s", cols > 1 ? cols - 1 : 1, line);
	fflush(stderr);
	view.line_shown = true;
	view.drawn_ms = loop_now_ms();
}

/* Those that something happens to come first, if there is no room for all. */
static void parts(void *ctx, const struct progress_part *list, size_t count)
{
	uint16_t rows, cols;
	size_t room, left = count;

	if (!rewritable())
		return;
	terminal_size(2, &rows, &cols);
	room = rows > 3 ? rows - 2u : 1u;
	if (room > PARTS_SHOWN_MAX)
		room = PARTS_SHOWN_MAX;
	view.part_count = 0;
	for (size_t i = 0; i < count && view.part_count < room; i++, left--) {
		const struct progress_part *part = &list[i];
		bool busy = part->done > 0 && part->done < part->total;
		char bar[BAR_CELLS + 1], size[16];

		if (left > room - view.part_count && !busy)
			continue;
		fill_bar(bar, part->done, part->total);
		text_from_size(part->total, size, sizeof(size));
		text_format(view.parts[view.part_count++],
			    sizeof(view.parts[0]), "  %-12s  %-9s  [%s] %s",
			    part->name, part->state, bar, size);
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
