/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_grid.h - a rectangle of character cells
 *
 * Every function clamps what it is given: rows and columns come from the
 * guest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cell_attr {
	CELL_BOLD = 1 << 0,
	CELL_DIM = 1 << 1,
	CELL_ITALIC = 1 << 2,
	CELL_UNDERLINE = 1 << 3,
	CELL_BLINK = 1 << 4,
	CELL_REVERSE = 1 << 5,
	CELL_HIDDEN = 1 << 6,
	CELL_STRIKE = 1 << 7,
};

#define CELL_INDEXED 0x01000000u /* | index */
#define CELL_RGB 0x02000000u     /* | 0xrrggbb */

struct pen {
	uint32_t fg, bg; /* 0 = the terminal's own */
	uint8_t attrs;   /* enum cell_attr */
};

struct cell {
	uint32_t glyph; /* 0 = blank */
	uint32_t mark;  /* one combining character, or 0 */
	struct pen pen;
	uint8_t width; /* 0: right half of a wide character */
};

struct grid {
	unsigned rows, cols; /* at least 1 */
	struct cell *cells;  /* owned */
};

void grid_init(struct grid *grid, unsigned rows, unsigned cols);
void grid_release(struct grid *grid);
/* Keeps what fits; lost rows are taken from the top when the cursor needs it.
 */
void grid_resize(struct grid *grid, unsigned rows, unsigned cols,
		 unsigned cursor_row);
struct cell *grid_at(const struct grid *grid, unsigned row, unsigned col);
/* Blanks len cells of a row with the pen's background. */
void grid_blank(struct grid *grid, unsigned row, unsigned col, unsigned len,
		const struct pen *pen);
/* Moves rows top..bottom (inclusive) up; negative: down. */
void grid_scroll(struct grid *grid, unsigned top, unsigned bottom, long count,
		 const struct pen *pen);
/* Moves the rest of a row right and blanks the gap; negative: left. */
void grid_shift(struct grid *grid, unsigned row, unsigned col, long count,
		const struct pen *pen);
