/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_ops.c - what characters and sequences do to the cells
 *
 * As much of a VT220 and of xterm as programs use to draw with. What is not
 * known is ignored: the picture is then a little wrong until the program
 * draws again.
 */
#include "supervisor/screen_internal.h"

#include "base/own.h"

static unsigned clamp(unsigned value, unsigned max)
{
	return value < max ? value : max;
}

struct grid *screen_grid(struct screen *screen)
{
	return screen->on_alternate ? &screen->alternate : &screen->primary;
}

static const struct pen *pen_of(const struct screen *screen)
{
	return &screen->cursor.pen;
}

static void move_to(struct screen *screen, unsigned row, unsigned col)
{
	const struct grid *grid = screen_grid(screen);

	screen->cursor.row = clamp(row, grid->rows - 1);
	screen->cursor.col = clamp(col, grid->cols - 1);
	screen->cursor.wrap = false;
}

static void line_feed(struct screen *screen)
{
	struct grid *grid = screen_grid(screen);

	screen->cursor.wrap = false;
	if (screen->cursor.row == screen->bottom)
		grid_scroll(grid, screen->top, screen->bottom, 1,
			    pen_of(screen));
	else if (screen->cursor.row + 1 < grid->rows)
		screen->cursor.row++;
}

static void reverse_line_feed(struct screen *screen)
{
	screen->cursor.wrap = false;
	if (screen->cursor.row == screen->top)
		grid_scroll(screen_grid(screen), screen->top, screen->bottom,
			    -1, pen_of(screen));
	else if (screen->cursor.row)
		screen->cursor.row--;
}

static void tab(struct screen *screen, long count)
{
	unsigned col = screen->cursor.col;

	for (; count > 0 && col < screen_grid(screen)->cols; count--)
		col = (col / 8 + 1) * 8;
	for (; count < 0 && col; count++)
		col = (col - 1) / 8 * 8;
	move_to(screen, screen->cursor.row, col);
}

void screen_control(struct screen *screen, char c)
{
	switch (c) {
	case '\b':
		if (screen->cursor.col)
			move_to(screen, screen->cursor.row,
				screen->cursor.col - 1);
		break;
	case '\t':
		tab(screen, 1);
		break;
	case '\n':
	case '\v':
	case '\f':
		line_feed(screen);
		break;
	case '\r':
		move_to(screen, screen->cursor.row, 0);
		break;
	default:
		break;
	}
}

static uint32_t line_drawing(uint32_t c)
{
	static const uint16_t glyphs[] = {
		0x25c6, 0x2592, 0x2409, 0x240c, 0x240d, 0x240a, 0x00b0, 0x00b1,
		0x2424, 0x240b, 0x2518, 0x2510, 0x250c, 0x2514, 0x253c, 0x23ba,
		0x23bb, 0x2500, 0x23bc, 0x23bd, 0x251c, 0x2524, 0x2534, 0x252c,
		0x2502, 0x2264, 0x2265, 0x03c0, 0x2260, 0x00a3, 0x00b7,
	};

	if (c >= 0x60 && c - 0x60 < ARRAY_SIZE(glyphs))
		return glyphs[c - 0x60];
	return c;
}

static void combine(struct screen *screen, uint32_t c)
{
	unsigned col = screen->cursor.col;

	if (!screen->cursor.wrap && col)
		col--;
	if (!grid_at(screen_grid(screen), screen->cursor.row, col)->width &&
	    col)
		col--;
	grid_at(screen_grid(screen), screen->cursor.row, col)->mark = c;
}

void screen_put(struct screen *screen, uint32_t c)
{
	struct grid *grid = screen_grid(screen);
	struct cursor_state *cursor = &screen->cursor;
	unsigned width = screen_char_width(c);

	if (cursor->drawing)
		c = line_drawing(c);
	if (width == 0) {
		combine(screen, c);
		return;
	}
	if (width > grid->cols)
		width = 1;
	if ((cursor->wrap || cursor->col + width > grid->cols) &&
	    !screen->no_wrap) {
		line_feed(screen);
		cursor->col = 0;
	}
	cursor->col = clamp(cursor->col, grid->cols - width);
	if (screen->insert)
		grid_shift(grid, cursor->row, cursor->col, (long)width,
			   pen_of(screen));
	for (unsigned i = 0; i < width; i++)
		*grid_at(grid, cursor->row, cursor->col + i) = (struct cell){
			.glyph = i ? 0 : c,
			.pen = cursor->pen,
			.width = (uint8_t)(i ? 0 : width),
		};
	screen->last = c;
	cursor->wrap = cursor->col + width >= grid->cols;
	if (!cursor->wrap)
		cursor->col += width;
}

static void erase_display(struct screen *screen, unsigned how)
{
	struct grid *grid = screen_grid(screen);
	unsigned row = screen->cursor.row, col = screen->cursor.col;
	unsigned from = how == 0 ? row + 1 : 0;
	unsigned to = how == 1 ? row : grid->rows;

	if (how > 3)
		return;
	if (how == 0)
		grid_blank(grid, row, col, grid->cols, pen_of(screen));
	if (how == 1)
		grid_blank(grid, row, 0, col + 1, pen_of(screen));
	/* 3 empties the scroll-back, which a picture has none of. */
	for (unsigned i = from; how != 3 && i < to; i++)
		grid_blank(grid, i, 0, grid->cols, pen_of(screen));
}

static void erase_line(struct screen *screen, unsigned how)
{
	struct grid *grid = screen_grid(screen);
	unsigned row = screen->cursor.row, col = screen->cursor.col;

	if (how == 0)
		grid_blank(grid, row, col, grid->cols, pen_of(screen));
	else if (how == 1)
		grid_blank(grid, row, 0, col + 1, pen_of(screen));
	else if (how == 2)
		grid_blank(grid, row, 0, grid->cols, pen_of(screen));
}

static void set_region(struct screen *screen, unsigned top, unsigned bottom)
{
	unsigned last = screen_grid(screen)->rows - 1;

	top = top ? top - 1 : 0;
	bottom = bottom ? clamp(bottom - 1, last) : last;
	if (top >= bottom)
		return;
	screen->top = top;
	screen->bottom = bottom;
	move_to(screen, screen->cursor.origin ? top : 0, 0);
}

static void leave_alternate(struct screen *screen)
{
	screen->on_alternate = false;
	screen->top = 0;
	screen->bottom = screen->primary.rows - 1;
}

static void enter_alternate(struct screen *screen)
{
	struct grid *grid = &screen->alternate;

	grid_release(grid);
	grid_init(grid, screen->primary.rows, screen->primary.cols);
	screen->on_alternate = true;
	screen->top = 0;
	screen->bottom = grid->rows - 1;
}

static void set_alternate(struct screen *screen, bool on, bool keep_cursor)
{
	if (on == screen->on_alternate)
		return;
	if (on && keep_cursor)
		screen->saved_primary = screen->cursor;
	if (on)
		enter_alternate(screen);
	else
		leave_alternate(screen);
	if (!on && keep_cursor)
		screen->cursor = screen->saved_primary;
	move_to(screen, screen->cursor.row, screen->cursor.col);
}

static void set_private_mode(struct screen *screen, unsigned mode, bool on)
{
	switch (mode) {
	case 6:
		screen->cursor.origin = on;
		move_to(screen, on ? screen->top : 0, 0);
		break;
	case 7:
		screen->no_wrap = !on;
		break;
	case 47:
	case 1047:
		set_alternate(screen, on, false);
		break;
	case 1049:
		set_alternate(screen, on, true);
		break;
	default:
		break;
	}
}

static void set_modes(struct screen *screen, const struct screen_sequence *s,
		      bool on)
{
	for (unsigned i = 0; i < s->count; i++) {
		if (s->private_mark == '?')
			set_private_mode(screen, s->parameters[i], on);
		else if (!s->private_mark && s->parameters[i] == 4)
			screen->insert = on;
	}
}

static void address(struct screen *screen, unsigned row, unsigned col)
{
	if (screen->cursor.origin)
		row = clamp(row + screen->top, screen->bottom);
	move_to(screen, row, col);
}

static void move_by(struct screen *screen, long rows, long cols)
{
	long row = (long)screen->cursor.row + rows;
	long col = (long)screen->cursor.col + cols;

	move_to(screen, row < 0 ? 0 : (unsigned)row,
		col < 0 ? 0 : (unsigned)col);
}

/* Lines and characters: L M S T @ P X. */
static void edit(struct screen *screen, char what, long count)
{
	struct grid *grid = screen_grid(screen);
	unsigned row = screen->cursor.row, col = screen->cursor.col;
	bool inside = row >= screen->top && row <= screen->bottom;

	switch (what) {
	case 'L':
	case 'M':
		if (inside)
			grid_scroll(grid, row, screen->bottom,
				    what == 'M' ? count : -count,
				    pen_of(screen));
		break;
	case 'S':
	case 'T':
		grid_scroll(grid, screen->top, screen->bottom,
			    what == 'S' ? count : -count, pen_of(screen));
		break;
	case '@':
	case 'P':
		grid_shift(grid, row, col, what == '@' ? count : -count,
			   pen_of(screen));
		break;
	default:
		grid_blank(grid, row, col, (unsigned)count, pen_of(screen));
		break;
	}
}

static void repeat(struct screen *screen, unsigned count)
{
	const struct grid *grid = screen_grid(screen);

	count = clamp(count, grid->rows * grid->cols);
	while (screen->last && count--)
		screen_put(screen, screen->last);
}

static void csi(struct screen *screen, const struct screen_sequence *s)
{
	unsigned first = s->parameters[0];
	unsigned second = s->count > 1 ? s->parameters[1] : 0;
	long count = first ? (long)first : 1;

	switch (s->final) {
	case 'A':
		move_by(screen, -count, 0);
		break;
	case 'B':
	case 'e':
		move_by(screen, count, 0);
		break;
	case 'C':
	case 'a':
		move_by(screen, 0, count);
		break;
	case 'D':
		move_by(screen, 0, -count);
		break;
	case 'E':
		move_by(screen, count, -(long)screen->cursor.col);
		break;
	case 'F':
		move_by(screen, -count, -(long)screen->cursor.col);
		break;
	case 'G':
	case '`':
		move_to(screen, screen->cursor.row, (unsigned)count - 1);
		break;
	case 'd':
		address(screen, (unsigned)count - 1, screen->cursor.col);
		break;
	case 'H':
	case 'f':
		address(screen, (unsigned)count - 1, second ? second - 1 : 0);
		break;
	case 'I':
		tab(screen, count);
		break;
	case 'Z':
		tab(screen, -count);
		break;
	case 'J':
		erase_display(screen, first);
		break;
	case 'K':
		erase_line(screen, first);
		break;
	case 'L':
	case 'M':
	case 'S':
	case 'T':
	case '@':
	case 'P':
	case 'X':
		edit(screen, s->final, count);
		break;
	case 'b':
		repeat(screen, (unsigned)count);
		break;
	case 'm':
		screen_pen(&screen->cursor.pen, s);
		break;
	case 'r':
		set_region(screen, first, second);
		break;
	case 's':
		screen->saved = screen->cursor;
		break;
	case 'u':
		screen->cursor = screen->saved;
		move_to(screen, screen->cursor.row, screen->cursor.col);
		break;
	default:
		break;
	}
}

static void escape(struct screen *screen, char final)
{
	switch (final) {
	case '7':
		screen->saved = screen->cursor;
		break;
	case '8':
		screen->cursor = screen->saved;
		move_to(screen, screen->cursor.row, screen->cursor.col);
		break;
	case 'D':
		line_feed(screen);
		break;
	case 'E':
		move_to(screen, screen->cursor.row, 0);
		line_feed(screen);
		break;
	case 'M':
		reverse_line_feed(screen);
		break;
	case 'c':
		screen_reset(screen);
		break;
	default:
		break;
	}
}

static void soft_reset(struct screen *screen)
{
	screen->insert = screen->no_wrap = false;
	screen->cursor.origin = screen->cursor.drawing = false;
	screen->cursor.pen = (struct pen){ 0 };
	screen->top = 0;
	screen->bottom = screen_grid(screen)->rows - 1;
}

void screen_sequence(struct screen *screen, const struct screen_sequence *s)
{
	if (!s->csi && s->middle == '(')
		screen->cursor.drawing = s->final == '0';
	else if (!s->csi && !s->middle)
		escape(screen, s->final);
	else if (!s->csi)
		return;
	else if (!s->middle && (s->final == 'h' || s->final == 'l'))
		set_modes(screen, s, s->final == 'h');
	else if (s->middle == '!' && s->final == 'p')
		soft_reset(screen);
	else if (!s->private_mark && !s->middle)
		csi(screen, s);
}
