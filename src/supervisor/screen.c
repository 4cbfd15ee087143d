/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - a picture of a terminal, kept from its output
 *
 * Not a library's: the one at hand writes past its arrays when the output is
 * hostile, and this process is what stands between the guest and the host.
 */
#include "supervisor/screen.h"

#include <stdlib.h>

#include "base/mem.h"
#include "supervisor/screen_internal.h"

static unsigned size_or(unsigned value, unsigned fallback, unsigned max)
{
	if (!value)
		return fallback;
	return value < max ? value : max;
}

static void on_text(void *ctx, const char *bytes, size_t len)
{
	struct screen *screen = ctx;

	for (size_t i = 0; i < len; i++) {
		uint32_t out[2];
		int count =
			screen_utf8_feed(&screen->utf8, (uint8_t)bytes[i], out);

		for (int k = 0; k < count; k++) {
			if (out[k] < 0x20)
				screen_control(screen, (char)out[k]);
			else if (out[k] < 0x7f || out[k] >= 0xa0)
				screen_put(screen, out[k]);
		}
	}
}

static void on_sequence(void *ctx, const struct screen_sequence *sequence)
{
	struct screen *screen = ctx;

	screen_modes_follow(&screen->modes, sequence);
	screen_sequence(screen, sequence);
}

void screen_reset(struct screen *screen)
{
	struct grid *grid = &screen->primary;

	screen->on_alternate = false;
	screen->cursor = screen->saved = screen->saved_primary =
		(struct cursor_state){ 0 };
	screen->top = 0;
	screen->bottom = grid->rows - 1;
	screen->insert = screen->no_wrap = false;
	screen->last = 0;
	for (unsigned row = 0; row < grid->rows; row++)
		grid_blank(grid, row, 0, grid->cols, &screen->cursor.pen);
}

struct screen *screen_new(unsigned rows, unsigned cols)
{
	struct screen *screen = xcalloc(1, sizeof(*screen));

	grid_init(&screen->primary, size_or(rows, 24, SCREEN_ROWS_MAX),
		  size_or(cols, 80, SCREEN_COLS_MAX));
	screen_modes_init(&screen->modes);
	screen->scan = (struct screen_scan){ .on_text = on_text,
					     .on_sequence = on_sequence,
					     .ctx = screen };
	screen_reset(screen);
	return screen;
}

void screen_free(struct screen *screen)
{
	if (!screen)
		return;
	grid_release(&screen->primary);
	grid_release(&screen->alternate);
	free(screen);
}

void screen_resize(struct screen *screen, unsigned rows, unsigned cols)
{
	struct grid *grid = screen_grid(screen);
	struct cursor_state *cursor = &screen->cursor;

	rows = size_or(rows, 24, SCREEN_ROWS_MAX);
	cols = size_or(cols, 80, SCREEN_COLS_MAX);
	if (rows == grid->rows && cols == grid->cols)
		return;
	grid_resize(&screen->primary, rows, cols,
		    screen->on_alternate ? screen->saved_primary.row
					 : cursor->row);
	if (screen->on_alternate)
		grid_resize(&screen->alternate, rows, cols, cursor->row);
	screen->top = 0;
	screen->bottom = rows - 1;
	cursor->wrap = false;
	if (cursor->row >= rows)
		cursor->row = rows - 1;
	if (cursor->col >= cols)
		cursor->col = cols - 1;
}

void screen_write(struct screen *screen, const void *bytes, size_t len)
{
	screen_scan(&screen->scan, bytes, len);
}
