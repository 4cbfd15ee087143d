/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_modes.h - terminal modes that a picture does not show
 *
 * Bracketed paste, mouse, application keys, the cursor's shape. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;
struct screen_sequence;

struct screen_modes {
	uint32_t set;   /* bits of the table in screen_modes.c */
	bool keypad;    /* ESC = */
	unsigned shape; /* of the cursor: CSI N SP q; 0 = the terminal's own */
};

void screen_modes_init(struct screen_modes *modes);
void screen_modes_follow(struct screen_modes *modes,
			 const struct screen_sequence *sequence);
/* Sequences that set everything but the alternate screen and the cursor. */
void screen_modes_draw(const struct screen_modes *modes, struct buffer *out);
/* Shape and visibility of the cursor: last of all. */
void screen_modes_draw_cursor(const struct screen_modes *modes,
			      struct buffer *out);
