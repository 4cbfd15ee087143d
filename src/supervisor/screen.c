/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.c - libvterm keeps the cells; this file draws them
 */
#include "supervisor/screen.h"

#include <stdbool.h>
#include <stdlib.h>
#include <vterm.h>

#include "base/buffer.h"
#include "base/mem.h"
#include "supervisor/screen_modes.h"

enum {
	/* Kept free for modes and cursor when a picture is cut. */
	TAIL_BYTES = 4096,
	REPLACEMENT = 0xfffd,
};

struct screen {
	VTerm *term;        /* owned */
	VTermScreen *cells; /* belongs to term */
	struct screen_modes modes;
};

static unsigned clamp(unsigned value, unsigned fallback, unsigned max)
{
	if (!value)
		return fallback;
	return value < max ? value : max;
}

/* Answers of the emulator (device attributes …) go nowhere. */
static void drop_output(const char *bytes, size_t len, void *user)
{
}

struct screen *screen_new(unsigned rows, unsigned cols)
{
	struct screen *screen = xcalloc(1, sizeof(*screen));

	screen->term = vterm_new((int)clamp(rows, 24, SCREEN_ROWS_MAX),
				 (int)clamp(cols, 80, SCREEN_COLS_MAX));
	vterm_set_utf8(screen->term, 1);
	vterm_output_set_callback(screen->term, drop_output, NULL);
	screen->cells = vterm_obtain_screen(screen->term);
	vterm_screen_enable_altscreen(screen->cells, 1);
	vterm_screen_reset(screen->cells, 1);
	screen_modes_init(&screen->modes);
	return screen;
}

void screen_free(struct screen *screen)
{
	if (!screen)
		return;
	vterm_free(screen->term);
	free(screen);
}

void screen_resize(struct screen *screen, unsigned rows, unsigned cols)
{
	vterm_set_size(screen->term, (int)clamp(rows, 24, SCREEN_ROWS_MAX),
		       (int)clamp(cols, 80, SCREEN_COLS_MAX));
}

void screen_write(struct screen *screen, const void *bytes, size_t len)
{
	vterm_input_write(screen->term, bytes, len);
	vterm_screen_flush_damage(screen->cells);
	screen_modes_scan(&screen->modes, bytes, len);
}

static void draw_color(struct buffer *out, const VTermColor *color, int base)
{
	if (base == 30 ? VTERM_COLOR_IS_DEFAULT_FG(color)
		       : VTERM_COLOR_IS_DEFAULT_BG(color))
		return;
	if (VTERM_COLOR_IS_INDEXED(color))
		buffer_printf(out, ";%d;5;%u", base + 8, color->indexed.idx);
	else
		buffer_printf(out, ";%d;2;%u;%u;%u", base + 8, color->rgb.red,
			      color->rgb.green, color->rgb.blue);
}

static void draw_pen(struct buffer *out, const VTermScreenCell *cell)
{
	const VTermScreenCellAttrs *attrs = &cell->attrs;

	buffer_printf(out, "\033[0");
	if (attrs->bold)
		buffer_printf(out, ";1");
	if (attrs->italic)
		buffer_printf(out, ";3");
	if (attrs->underline)
		buffer_printf(out, ";4");
	if (attrs->blink)
		buffer_printf(out, ";5");
	if (attrs->reverse)
		buffer_printf(out, ";7");
	if (attrs->strike)
		buffer_printf(out, ";9");
	draw_color(out, &cell->fg, 30);
	draw_color(out, &cell->bg, 40);
	buffer_printf(out, "m");
}

static bool same_pen(const VTermScreenCell *a, const VTermScreenCell *b)
{
	return a->attrs.bold == b->attrs.bold &&
	       a->attrs.italic == b->attrs.italic &&
	       a->attrs.underline == b->attrs.underline &&
	       a->attrs.blink == b->attrs.blink &&
	       a->attrs.reverse == b->attrs.reverse &&
	       a->attrs.strike == b->attrs.strike &&
	       vterm_color_is_equal(&a->fg, &b->fg) &&
	       vterm_color_is_equal(&a->bg, &b->bg);
}

/* Controls, also the 8-bit ones, never leave as such. */
static void draw_char(struct buffer *out, uint32_t c)
{
	uint8_t bytes[4];
	size_t len = 0;

	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c > 0x10ffff ||
	    (c >= 0xd800 && c < 0xe000))
		c = REPLACEMENT;
	if (c < 0x80) {
		bytes[len++] = (uint8_t)c;
	} else if (c < 0x800) {
		bytes[len++] = (uint8_t)(0xc0 | c >> 6);
		bytes[len++] = (uint8_t)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		bytes[len++] = (uint8_t)(0xe0 | c >> 12);
		bytes[len++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		bytes[len++] = (uint8_t)(0x80 | (c & 0x3f));
	} else {
		bytes[len++] = (uint8_t)(0xf0 | c >> 18);
		bytes[len++] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
		bytes[len++] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		bytes[len++] = (uint8_t)(0x80 | (c & 0x3f));
	}
	buffer_append(out, bytes, len);
}

static bool is_blank(const VTermScreenCell *cell)
{
	return (!cell->chars[0] || cell->chars[0] == ' ') &&
	       VTERM_COLOR_IS_DEFAULT_BG(&cell->bg) && !cell->attrs.reverse &&
	       !cell->attrs.underline && !cell->attrs.strike;
}

static int used_columns(const struct screen *screen, int row, int cols)
{
	VTermScreenCell cell;

	while (cols > 0) {
		VTermPos at = { row, cols - 1 };

		if (vterm_screen_get_cell(screen->cells, at, &cell) &&
		    !is_blank(&cell))
			break;
		cols--;
	}
	return cols;
}

static void draw_row(const struct screen *screen, int row, int cols,
		     VTermScreenCell *pen, struct buffer *out)
{
	int used = used_columns(screen, row, cols);
	VTermScreenCell cell;

	if (!used)
		return;
	buffer_printf(out, "\033[%d;1H", row + 1);
	for (int col = 0; col < used;) {
		VTermPos at = { row, col };

		if (!vterm_screen_get_cell(screen->cells, at, &cell))
			return;
		if (!same_pen(pen, &cell))
			draw_pen(out, &cell);
		*pen = cell;
		if (!cell.chars[0])
			draw_char(out, ' ');
		for (int i = 0; i < VTERM_MAX_CHARS_PER_CELL && cell.chars[i];
		     i++)
			draw_char(out, cell.chars[i]);
		col += cell.width > 1 ? cell.width : 1;
	}
}

void screen_draw(struct screen *screen, struct buffer *out)
{
	bool alternate = screen_modes_alternate(&screen->modes);
	size_t limit = out->max > TAIL_BYTES ? out->max - TAIL_BYTES : 0;
	VTermState *state = vterm_obtain_state(screen->term);
	VTermScreenCell pen = { 0 };
	VTermPos cursor;
	int rows, cols;

	vterm_get_size(screen->term, &rows, &cols);
	vterm_state_get_cursorpos(state, &cursor);
	vterm_state_get_default_colors(state, &pen.fg, &pen.bg);
	pen.fg.type |= VTERM_COLOR_DEFAULT_FG;
	pen.bg.type |= VTERM_COLOR_DEFAULT_BG;
	buffer_printf(out, "\033[?1049%c\033[r\033[0m\033[H\033[2J",
		      alternate ? 'h' : 'l');
	for (int row = 0; row < rows && out->len < limit; row++)
		draw_row(screen, row, cols, &pen, out);
	draw_pen(out, &pen);
	screen_modes_draw(&screen->modes, out);
	buffer_printf(out, "\033[%d;%dH", cursor.row + 1, cursor.col + 1);
	screen_modes_draw_cursor(&screen->modes, out);
}
