/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_screen.c - a redrawn screen looks like the first one
 */
#include "supervisor/screen.h"

#include "base/buffer.h"
#include "lib/tap.h"

static void feed(struct screen *screen, const char *text)
{
	screen_write(screen, text, strlen(text));
}

static const char *drawn(struct screen *screen, struct buffer *out)
{
	buffer_consume(out, out->len);
	screen_draw(screen, out);
	return buffer_str(out);
}

static void text_colours_and_cursor_are_drawn(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(SCREEN_DRAW_MAX);
	struct screen *screen = screen_new(24, 80);
	const char *text;

	feed(screen, "plain \033[1;31mred\033[0m\r\nsecond\033[10;20H");
	text = drawn(screen, &out);
	REQUIRE(text);
	CHECK(strstr(text, "plain "));
	CHECK(strstr(text, ";1"));
	CHECK(strstr(text, ";38;5;1mred"));
	CHECK(strstr(text, "\033[2;1H"));
	CHECK(strstr(text, "second"));
	CHECK(strstr(text, "\033[10;20H"));
	screen_free(screen);
}

static void a_drawn_screen_draws_the_same_again(void)
{
	AUTO_BUFFER struct buffer first = BUFFER_INIT(SCREEN_DRAW_MAX);
	AUTO_BUFFER struct buffer second = BUFFER_INIT(SCREEN_DRAW_MAX);
	struct screen *a = screen_new(10, 40), *b = screen_new(10, 40);

	feed(a, "\033[?1049h\033[?2004h\033[?1h\033[?1006h\033[?1000h\033[5;5H"
		"\033[7mreverse\033[0m \xc3\xa4\xe4\xb8\xad\xf0\x9f\x98\x80"
		"\033[48;2;1;2;3mrgb\033[?25l\033[4 q");
	screen_draw(a, &first);
	screen_write(b, first.data, first.len);
	screen_draw(b, &second);
	CHECK(first.len == second.len);
	CHECK(first.len == second.len &&
	      memcmp(first.data, second.data, first.len) == 0);
	screen_free(a);
	screen_free(b);
}

static void modes_survive(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(SCREEN_DRAW_MAX);
	struct screen *screen = screen_new(0, 0);
	const char *text;

	feed(screen, "\033[?2004;1006h\033[?1049h\033=\033[?25l");
	text = drawn(screen, &out);
	REQUIRE(text);
	CHECK(strstr(text, "\033[?2004h"));
	CHECK(strstr(text, "\033[?1006h"));
	CHECK(strstr(text, "\033[?1000l"));
	CHECK(strstr(text, "\033[?1049h"));
	CHECK(strstr(text, "\033="));
	CHECK(strstr(text, "\033[?25l"));
	feed(screen, "\033c");
	text = drawn(screen, &out);
	REQUIRE(text);
	CHECK(strstr(text, "\033[?2004l"));
	CHECK(strstr(text, "\033[?1049l"));
	CHECK(strstr(text, "\033[?25h"));
	screen_free(screen);
}

/* Device attributes, status and position reports, OSC and DCS queries. */
static void nothing_that_asks_for_an_answer_is_drawn(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(SCREEN_DRAW_MAX);
	struct screen *screen = screen_new(24, 80);
	const char *text;

	feed(screen, "\033[c\033[>c\033[5n\033[6n\033[?6n\033]11;?\007"
		     "\033]52;c;?\007\033P$qm\033\\\033[14t\033Z"
		     "\xc2\x9b"
		     "6n\xc2\x90x\xc2\x9c\x05");
	text = drawn(screen, &out);
	REQUIRE(text);
	CHECK(!strstr(text, "\033[6n") && !strstr(text, "\033[5n"));
	CHECK(!strstr(text, "\033]") && !strstr(text, "\033P"));
	CHECK(!strstr(text, "\033[c") && !strstr(text, "\033Z"));
	CHECK(!strstr(text, "\xc2\x9b") && !strstr(text, "\xc2\x90"));
	CHECK(!memchr(text, 5, out.len));
	screen_free(screen);
}

static void sizes_are_clamped_and_resizing_keeps_the_text(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(SCREEN_DRAW_MAX);
	struct screen *screen = screen_new(65535, 65535);
	const char *text;

	feed(screen, "kept");
	screen_resize(screen, 5, 10);
	screen_resize(screen, 65535, 1);
	screen_resize(screen, 24, 80);
	text = drawn(screen, &out);
	CHECK(text && strstr(text, "k"));
	screen_free(screen);
}

static void a_picture_that_is_too_large_is_cut_with_its_modes_intact(void)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(16384);
	struct screen *screen = screen_new(SCREEN_ROWS_MAX, SCREEN_COLS_MAX);
	char cell[64];
	const char *text;

	feed(screen, "\033[?2004h");
	for (int i = 0; i < SCREEN_ROWS_MAX * SCREEN_COLS_MAX; i++) {
		snprintf(cell, sizeof(cell), "\033[38;2;%d;%d;7mx", i % 256,
			 i / 256 % 256);
		feed(screen, cell);
	}
	text = drawn(screen, &out);
	REQUIRE(text);
	CHECK(out.len <= 16384);
	CHECK(strstr(text, "\033[?2004h"));
	screen_free(screen);
}

static void an_endless_string_costs_no_memory(void)
{
	struct screen *screen = screen_new(24, 80);
	static char bytes[65536];

	memset(bytes, 'x', sizeof(bytes));
	feed(screen, "\033]0;");
	for (int i = 0; i < 1000; i++)
		screen_write(screen, bytes, sizeof(bytes));
	screen_free(screen);
	CHECK(1);
}

int main(void)
{
	RUN(text_colours_and_cursor_are_drawn);
	RUN(a_drawn_screen_draws_the_same_again);
	RUN(modes_survive);
	RUN(nothing_that_asks_for_an_answer_is_drawn);
	RUN(sizes_are_clamped_and_resizing_keeps_the_text);
	RUN(a_picture_that_is_too_large_is_cut_with_its_modes_intact);
	RUN(an_endless_string_costs_no_memory);
	return DONE();
}
