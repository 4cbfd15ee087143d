/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_buffer.c - unit tests of base/buffer.h
 */
#include "base/buffer.h"

#include "lib/tap.h"

static void appended_bytes_are_kept_in_order(void)
{
	AUTO_BUFFER struct buffer buf = BUFFER_INIT(1 << 20);

	for (int i = 0; i < 10000; i++) {
		uint8_t byte = (uint8_t)i;

		CHECK(buffer_append(&buf, &byte, 1) == 0);
	}
	CHECK(buf.len == 10000);
	for (int i = 0; i < 10000; i++)
		CHECK(buf.data[i] == (uint8_t)i);
}

static void nothing_grows_past_the_maximum(void)
{
	AUTO_BUFFER struct buffer buf = BUFFER_INIT(10);

	CHECK(buffer_append(&buf, "12345678", 8) == 0);
	CHECK(buffer_append(&buf, "xyz", 3) == -1);
	CHECK(buffer_append(&buf, "x", SIZE_MAX) == -1);
	CHECK(buf.len == 8 && memcmp(buf.data, "12345678", 8) == 0);
	CHECK(buffer_append(&buf, "90", 2) == 0);
	CHECK(buf.len == 10 && buf.capacity <= 10);
	CHECK(buffer_append(&buf, "", 0) == 0);
}

static void unlimited_maximum_does_not_overflow(void)
{
	AUTO_BUFFER struct buffer buf = BUFFER_INIT(SIZE_MAX);

	CHECK(buffer_append(&buf, "abc", 3) == 0);
	CHECK(buffer_append(&buf, "x", SIZE_MAX) == -1);
	CHECK(buffer_append(&buf, "x", SIZE_MAX - 2) == -1);
	CHECK(buf.len == 3);
}

static void printf_appends_short_and_long_text(void)
{
	AUTO_BUFFER struct buffer buf;

	buffer_init(&buf, 2000);
	CHECK(buffer_printf(&buf, "%s-%d;", "a", 1) == 0);
	CHECK(buffer_printf(&buf, "%0900d", 5) == 0);
	CHECK(buf.len == 904 && memcmp(buf.data, "a-1;0000", 8) == 0);
	CHECK(buf.data[903] == '5');
	CHECK(buffer_printf(&buf, "%01500d", 5) == -1);
	CHECK(buffer_printf(&buf, "%02500d", 5) == -1);
	CHECK(buf.len == 904);
	CHECK(buffer_printf(&buf, "%s", buffer_str(&buf)) == 0);
	CHECK(buf.len == 1808);
}

static void consume_removes_from_the_front(void)
{
	AUTO_BUFFER struct buffer buf = BUFFER_INIT(100);

	CHECK(buffer_append(&buf, "abcdef", 6) == 0);
	buffer_consume(&buf, 0);
	buffer_consume(&buf, 2);
	CHECK(buf.len == 4 && memcmp(buf.data, "cdef", 4) == 0);
	buffer_consume(&buf, 4);
	CHECK(buf.len == 0);
	CHECK(buffer_append(&buf, "x", 1) == 0 && buf.data[0] == 'x');
}

static void string_view_is_terminated_within_the_maximum(void)
{
	AUTO_BUFFER struct buffer buf = BUFFER_INIT(4);
	AUTO_BUFFER struct buffer none = BUFFER_INIT(0);
	const char *text = buffer_str(&buf);

	CHECK(text && strcmp(text, "") == 0 && buf.len == 0);
	CHECK(buffer_append(&buf, "abc", 3) == 0);
	text = buffer_str(&buf);
	CHECK(text && strcmp(text, "abc") == 0 && buf.len == 3);
	CHECK(buffer_append(&buf, "d", 1) == 0);
	CHECK(!buffer_str(&buf));
	CHECK(!buffer_str(&none));
}

static void released_buffer_can_be_used_again(void)
{
	struct buffer buf = BUFFER_INIT(4);

	CHECK(buffer_append(&buf, "abc", 3) == 0);
	buffer_release(&buf);
	CHECK(!buf.data && !buf.len && buf.max == 4);
	CHECK(buffer_append(&buf, "abc", 3) == 0);
	buffer_release(&buf);
	buffer_release(&buf);
}

int main(void)
{
	RUN(appended_bytes_are_kept_in_order);
	RUN(nothing_grows_past_the_maximum);
	RUN(unlimited_maximum_does_not_overflow);
	RUN(printf_appends_short_and_long_text);
	RUN(consume_removes_from_the_front);
	RUN(string_view_is_terminated_within_the_maximum);
	RUN(released_buffer_can_be_used_again);
	return DONE();
}
