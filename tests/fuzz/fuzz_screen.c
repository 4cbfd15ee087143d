/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_screen.c - what a guest writes to its terminal, and the redraw of it
 */
#include "supervisor/screen.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Only what screen.c itself composes may follow an ESC. */
static void check(const struct buffer *drawn)
{
	for (size_t i = 0; i + 1 < drawn->len; i++) {
		uint8_t next = drawn->data[i + 1];

		if (drawn->data[i] == 0x1b && next != '[' && next != '=' &&
		    next != '>' && next != '(')
			abort();
		if (drawn->data[i] < 0x20 && drawn->data[i] != 0x1b)
			abort();
	}
	if (drawn->len && (memmem(drawn->data, drawn->len, "\033[c", 3) ||
			   memmem(drawn->data, drawn->len, "\033[6n", 4)))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(SCREEN_DRAW_MAX);
	struct screen *screen = screen_new(8, 20);

	screen_write(screen, data, size / 2);
	screen_resize(screen, 1 + size % 12, 1 + size % 30);
	screen_write(screen, data + size / 2, size - size / 2);
	screen_draw(screen, &out);
	check(&out);
	screen_free(screen);
	return 0;
}
