/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ask_terminal.c - a question looks the same, whatever the guest wrote to
 * the terminal before it
 */
#include <string.h>

#include "base/buffer.h"
#include "cli/ask_screen.h"
#include "lib/fuzz.h"
#include "supervisor/screen.h"

static const struct ask question = { .id = 1,
				     .target = "example.com:443",
				     .protocol = "tls",
				     .ms_left = 30000 };

/* A terminal that shows the question after these bytes, as it can be drawn. */
static void picture(const uint8_t *before, size_t len, struct buffer *out)
{
	AUTO_BUFFER struct buffer bytes = BUFFER_INIT(65536);
	struct screen *screen = screen_new(24, 80);
	struct ask_view view = { .sandbox = "box",
				 .mark = "amber otter 41",
				 .rows = 24,
				 .cols = 80,
				 .ready = true };

	screen_write(screen, before, len);
	ask_screen_draw(&question, &view, &bytes);
	screen_write(screen, bytes.data, bytes.len);
	screen_draw(screen, out);
	screen_free(screen);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_BUFFER struct buffer clean = BUFFER_INIT(SCREEN_DRAW_MAX);
	AUTO_BUFFER struct buffer after = BUFFER_INIT(SCREEN_DRAW_MAX);

	picture(NULL, 0, &clean);
	picture(data, size, &after);
	FUZZ_CHECK(clean.len == after.len &&
		   !memcmp(clean.data, after.data, clean.len));
	return 0;
}
