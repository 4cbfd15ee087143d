/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ask_watch.c - what the launcher tells about questions; what is drawn of
 * them has no control byte of theirs
 */
#include "cli/ask_watch.h"

#include <string.h>

#include "base/buffer.h"
#include "cli/ask_screen.h"
#include "lib/fuzz.h"

static void check_picture(const struct ask *ask)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(65536);
	struct ask_view view = { "s", "m", 0, 24, 80, true, true };

	for (const char *c = ask->target; *c; c++)
		FUZZ_CHECK(*c > ' ' && *c < 0x7f);
	ask_screen_draw(ask, &view, &out);
	FUZZ_CHECK(out.len && !memchr(out.data, '\007', out.len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct ask_watch watch;
	const char *text = (const char *)data, *end = text + size;
	struct ask ask;

	watch = ASK_WATCH_INIT;
	while (text < end) {
		const char *feed = memchr(text, '\n', (size_t)(end - text));
		size_t len = (size_t)((feed ? feed : end) - text);

		(void)ask_watch_line(&watch, text, len, 0);
		FUZZ_CHECK(watch.count <= ASKS_MAX);
		text += len + (feed != NULL);
	}
	if (ask_watch_front(&watch, 0, &ask))
		check_picture(&ask);
	return 0;
}
