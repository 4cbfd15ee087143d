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

static struct {
	char text[160];
	uint64_t started_ms, drawn_ms;
	bool line_shown;
} view;

static bool rewritable(void)
{
	const char *term = getenv("TERM");

	return isatty(2) && term && strcmp(term, "dumb");
}

static void draw(uint64_t done, uint64_t total)
{
	char line[256], bar[BAR_CELLS + 1], seconds[32];
	unsigned long long elapsed = loop_now_ms() - view.started_ms;
	uint16_t rows, cols;

	text_format(seconds, sizeof(seconds), "%llu s", elapsed / 1000);
	if (total) {
		unsigned filled;

		if (done > total)
			done = total;
		filled = (unsigned)((double)done / (double)total * BAR_CELLS);
		memset(bar, '.', BAR_CELLS);
		memset(bar, '#', filled);
		bar[BAR_CELLS] = '\0';
		text_format(line, sizeof(line), "%s  [%s] %3u %%  %s",
			    view.text, bar,
			    (unsigned)((double)done * 100 / (double)total),
			    seconds);
	} else {
		text_format(line, sizeof(line), "%s  %s", view.text, seconds);
	}
	terminal_size(2, &rows, &cols);
	fprintf(stderr, "\r\033[K%.*s", cols > 1 ? cols - 1 : 1, line);
	fflush(stderr);
	view.line_shown = true;
	view.drawn_ms = loop_now_ms();
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
}

void progress_view_retitle(const char *text)
{
	text_printable(text, strlen(text), view.text, sizeof(view.text));
}

void progress_view_clear(void)
{
	if (!view.line_shown)
		return;
	fprintf(stderr, "\r\033[K");
	fflush(stderr);
	view.line_shown = false;
}

void progress_view_forget(void)
{
	static const char clear[] = "\r\033[K";

	if (view.line_shown && write(2, clear, sizeof(clear) - 1) < 0)
		return;
}

const struct progress *progress_view(void)
{
	static const struct progress progress = {
		.step = step,
		.update = update,
		.done = done_step,
	};

	return &progress;
}
