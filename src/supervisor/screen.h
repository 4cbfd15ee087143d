/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen.h - a picture of the main session's terminal
 *
 * Fed with everything that the session writes; draws itself for a client that
 * attaches later. What it draws asks the client's terminal for nothing, so
 * that no answer can be typed into the guest.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buffer;
struct screen;

#define SCREEN_ROWS_MAX 200
#define SCREEN_COLS_MAX 400
#define SCREEN_DRAW_MAX (512u * 1024)

/* Sizes are clamped; 0 becomes 24 x 80. */
struct screen *screen_new(unsigned rows, unsigned cols);
void screen_free(struct screen *screen); /* NULL is fine */
void screen_resize(struct screen *screen, unsigned rows, unsigned cols);
void screen_write(struct screen *screen, const void *bytes, size_t len);
/* Appends the bytes that make an unknown terminal look like this one. */
void screen_draw(struct screen *screen, struct buffer *out);
