/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_internal.h - between screen.c, screen_ops.c and screen_draw.c
 */
#pragma once

#include <stdbool.h>

#include "supervisor/screen_char.h"
#include "supervisor/screen_grid.h"
#include "supervisor/screen_modes.h"
#include "supervisor/screen_scan.h"

struct cursor_state {
	unsigned row, col;
	bool wrap;    /* the next character begins a new line */
	bool origin;  /* rows count from the top of the scroll region */
	bool drawing; /* G0 is DEC line drawing */
	struct pen pen;
};

struct screen {
	struct grid primary, alternate; /* alternate.cells NULL until used */
	bool on_alternate;
	struct cursor_state cursor, saved, saved_primary;
	unsigned top, bottom; /* scroll region, inclusive */
	bool insert, no_wrap;
	uint32_t last; /* character that CSI b repeats */
	struct screen_utf8 utf8;
	struct screen_scan scan;
	struct screen_modes modes;
};

struct grid *screen_grid(struct screen *screen);
void screen_reset(struct screen *screen);
void screen_put(struct screen *screen, uint32_t c);
void screen_control(struct screen *screen, char c);
void screen_sequence(struct screen *screen,
		     const struct screen_sequence *sequence);
/* SGR: changes the pen. */
void screen_pen(struct pen *pen, const struct screen_sequence *sequence);
