/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_modes.h - terminal modes that a picture does not show
 *
 * libvterm keeps them to itself (bracketed paste, mouse, application keys), so
 * a scanner of its own follows the sequences that set them. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buffer;

#define SCREEN_MODES_PARAMETERS 8

struct screen_modes {
	uint32_t set;   /* bits of the table in screen_modes.c */
	bool keypad;    /* ESC = */
	unsigned shape; /* of the cursor: CSI N SP q; 0 = the terminal's own */

	/* private: where in a sequence we are */
	int state;
	unsigned parameters[SCREEN_MODES_PARAMETERS];
	unsigned count;
	char private_mark, middle;
};

void screen_modes_init(struct screen_modes *modes);
void screen_modes_scan(struct screen_modes *modes, const void *bytes,
		       size_t len);
bool screen_modes_alternate(const struct screen_modes *modes);
/* Sequences that set everything but the alternate screen and the cursor. */
void screen_modes_draw(const struct screen_modes *modes, struct buffer *out);
/* Shape and visibility of the cursor: last of all. */
void screen_modes_draw_cursor(const struct screen_modes *modes,
			      struct buffer *out);
