/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_grid.c - a rectangle of character cells
 */
#include "supervisor/screen_grid.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static unsigned smaller(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

void grid_init(struct grid *grid, unsigned rows, unsigned cols)
{
	grid->rows = rows ? rows : 1;
	grid->cols = cols ? cols : 1;
	grid->cells = xcalloc((size_t)grid->rows * grid->cols,
			      sizeof(grid->cells[0]));
}

void grid_release(struct grid *grid)
{
	free(grid->cells);
	*grid = (struct grid){ 0 };
}

struct cell *grid_at(const struct grid *grid, unsigned row, unsigned col)
{
	row = smaller(row, grid->rows - 1);
	col = smaller(col, grid->cols - 1);
	return &grid->cells[(size_t)row * grid->cols + col];
}

void grid_resize(struct grid *grid, unsigned rows, unsigned cols,
		 unsigned cursor_row)
{
	struct grid next;
	unsigned skip, keep_rows, keep_cols;

	grid_init(&next, rows, cols);
	skip = cursor_row >= next.rows ? cursor_row - next.rows + 1 : 0;
	if (skip > grid->rows - 1)
		skip = grid->rows - 1;
	keep_rows = smaller(grid->rows - skip, next.rows);
	keep_cols = smaller(grid->cols, next.cols);
	for (unsigned row = 0; row < keep_rows; row++)
		memcpy(grid_at(&next, row, 0), grid_at(grid, row + skip, 0),
		       keep_cols * sizeof(struct cell));
	grid_release(grid);
	*grid = next;
}

void grid_blank(struct grid *grid, unsigned row, unsigned col, unsigned len,
		const struct pen *pen)
{
	struct cell blank = { .pen = { .bg = pen->bg } };

	if (row >= grid->rows || col >= grid->cols)
		return;
	len = smaller(len, grid->cols - col);
	for (unsigned i = 0; i < len; i++)
		*grid_at(grid, row, col + i) = blank;
}

void grid_scroll(struct grid *grid, unsigned top, unsigned bottom, long count,
		 const struct pen *pen)
{
	unsigned height, by;

	bottom = smaller(bottom, grid->rows - 1);
	if (top > bottom || count == 0)
		return;
	height = bottom - top + 1;
	by = count < 0 ? (unsigned)-count : (unsigned)count;
	by = smaller(by, height);
	if (by < height) {
		struct cell *upper = grid_at(grid, top, 0);
		struct cell *lower = grid_at(grid, top + by, 0);
		size_t bytes = (size_t)(height - by) * grid->cols *
			       sizeof(struct cell);

		if (count > 0)
			memmove(upper, lower, bytes);
		else
			memmove(lower, upper, bytes);
	}
	for (unsigned i = 0; i < by; i++)
		grid_blank(grid, count > 0 ? bottom - i : top + i, 0,
			   grid->cols, pen);
}

void grid_shift(struct grid *grid, unsigned row, unsigned col, long count,
		const struct pen *pen)
{
	unsigned width, by;

	if (row >= grid->rows || col >= grid->cols || count == 0)
		return;
	width = grid->cols - col;
	by = count < 0 ? (unsigned)-count : (unsigned)count;
	by = smaller(by, width);
	if (by < width) {
		struct cell *left = grid_at(grid, row, col);
		size_t bytes = (width - by) * sizeof(struct cell);

		if (count > 0)
			memmove(left + by, left, bytes);
		else
			memmove(left, left + by, bytes);
	}
	grid_blank(grid, row, count > 0 ? col : col + width - by, by, pen);
}
