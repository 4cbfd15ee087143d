/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_draw.c - the bytes that make another terminal look like this one
 */
#include "supervisor/screen.h"

#include <string.h>

#include "base/buffer.h"
#include "supervisor/screen_internal.h"

/* Kept free for modes and cursor when a picture is cut. */
#define TAIL_BYTES 4096

static void draw_color(struct buffer *out, uint32_t color, int base)
{
	if (color & CELL_INDEXED)
		buffer_printf(out, ";%d;5;%u", base, color & 0xff);
	else if (color & CELL_RGB)
		buffer_printf(out, ";%d;2;%u;%u;%u", base, color >> 16 & 0xff,
			      color >> 8 & 0xff, color & 0xff);
}

static void draw_pen(struct buffer *out, const struct pen *pen)
{
	static const char codes[] = "12345789"; /* in the order of the bits */

	buffer_printf(out, "\033[0");
	for (unsigned i = 0; i < 8; i++) {
		if (pen->attrs >> i & 1)
			buffer_printf(out, ";%c", codes[i]);
	}
	draw_color(out, pen->fg, 38);
	draw_color(out, pen->bg, 48);
	buffer_printf(out, "m");
}

static bool same_pen(const struct pen *a, const struct pen *b)
{
	return a->fg == b->fg && a->bg == b->bg && a->attrs == b->attrs;
}

static void draw_char(struct buffer *out, uint32_t c)
{
	uint8_t bytes[4];

	buffer_append(out, bytes, screen_char_encode(c, bytes));
}

static bool is_blank(const struct cell *cell)
{
	const uint8_t visible = CELL_REVERSE | CELL_UNDERLINE | CELL_STRIKE;

	return (!cell->glyph || cell->glyph == ' ') && !cell->mark &&
	       !cell->pen.bg && !(cell->pen.attrs & visible);
}

static void draw_row(const struct grid *grid, unsigned row, struct pen *pen,
		     struct buffer *out)
{
	unsigned used = grid->cols;

	while (used && is_blank(grid_at(grid, row, used - 1)))
		used--;
	if (!used)
		return;
	buffer_printf(out, "\033[%u;1H", row + 1);
	for (unsigned col = 0; col < used;) {
		const struct cell *cell = grid_at(grid, row, col);

		if (!same_pen(pen, &cell->pen)) {
			*pen = cell->pen;
			draw_pen(out, pen);
		}
		draw_char(out, cell->glyph ? cell->glyph : ' ');
		if (cell->mark)
			draw_char(out, cell->mark);
		/* A wide character may have lost its right half. */
		if (cell->width == 2 && col + 1 < used &&
		    grid_at(grid, row, col + 1)->width == 0 &&
		    !grid_at(grid, row, col + 1)->glyph)
			col++;
		col++;
	}
}

void screen_draw(struct screen *screen, struct buffer *out)
{
	size_t limit = out->max > TAIL_BYTES ? out->max - TAIL_BYTES : 0;
	const struct grid *grid = screen_grid(screen);
	struct pen pen = { 0 };

	buffer_printf(out,
		      "\033[?1049%c\033[r\033[?7h\033[4l\033(B\033[0m"
		      "\033[H\033[2J",
		      screen->on_alternate ? 'h' : 'l');
	for (unsigned row = 0; row < grid->rows && out->len < limit; row++)
		draw_row(grid, row, &pen, out);
	if (screen->top || screen->bottom + 1 < grid->rows)
		buffer_printf(out, "\033[%u;%ur", screen->top + 1,
			      screen->bottom + 1);
	draw_pen(out, &screen->cursor.pen);
	screen_modes_draw(&screen->modes, out);
	buffer_printf(out, "\033[%u;%uH", screen->cursor.row + 1,
		      screen->cursor.col + 1);
	screen_modes_draw_cursor(&screen->modes, out);
}
