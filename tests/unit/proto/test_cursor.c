/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_cursor.c - reading and writing of wire bytes
 */
#include "proto/cursor.h"

#include "lib/tap.h"

static void integers_are_little_endian(void)
{
	static const uint8_t bytes[] = { 1, 2,  3,  4,  5,  6,  7, 8,
					 9, 10, 11, 12, 13, 14, 15 };
	struct cursor c = cursor_over(bytes, sizeof(bytes));

	CHECK(cursor_u8(&c) == 1);
	CHECK(cursor_u16(&c) == 0x0302);
	CHECK(cursor_u32(&c) == 0x07060504);
	CHECK(!cursor_done(&c));
	CHECK(cursor_u64(&c) == 0x0f0e0d0c0b0a0908);
	CHECK(cursor_done(&c));
}

static void reading_past_the_end_is_sticky(void)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct cursor c = cursor_over(bytes, sizeof(bytes));

	CHECK(cursor_u32(&c) == 0);
	CHECK(c.bad);
	CHECK(cursor_u8(&c) == 0);
	CHECK(cursor_bytes(&c, 0) == NULL);
	CHECK(cursor_str(&c) == NULL);
	CHECK(!cursor_done(&c));
}

static void a_huge_length_does_not_wrap(void)
{
	static const uint8_t bytes[] = { 1, 2, 3 };
	struct cursor c = cursor_over(bytes, sizeof(bytes));

	CHECK(cursor_bytes(&c, SIZE_MAX) == NULL);
	CHECK(c.bad);
}

static void a_string_needs_its_nul_inside(void)
{
	struct cursor c = cursor_over("ab\0c", 4);

	CHECK(!strcmp(cursor_str(&c), "ab"));
	CHECK(cursor_left(&c) == 1);
	CHECK(cursor_str(&c) == NULL);
	CHECK(c.bad);
}

static void no_bytes_are_read_from_nothing(void)
{
	struct cursor c = cursor_over(NULL, 0);

	CHECK(cursor_done(&c));
	CHECK(cursor_bytes(&c, 0) != NULL);
	CHECK(cursor_u8(&c) == 0 && c.bad);
}

static void what_is_written_is_read_back(void)
{
	uint8_t bytes[32];
	struct writer w = writer_over(bytes, sizeof(bytes));
	struct cursor c;

	writer_u8(&w, 200);
	writer_u16(&w, 60000);
	writer_u32(&w, 4000000000u);
	writer_u64(&w, UINT64_MAX - 1);
	writer_str(&w, "x");
	writer_bytes(&w, "yz", 2);
	CHECK(!w.bad && writer_len(&w) == 1 + 2 + 4 + 8 + 2 + 2);
	c = cursor_over(bytes, writer_len(&w));
	CHECK(cursor_u8(&c) == 200);
	CHECK(cursor_u16(&c) == 60000);
	CHECK(cursor_u32(&c) == 4000000000u);
	CHECK(cursor_u64(&c) == UINT64_MAX - 1);
	CHECK(!strcmp(cursor_str(&c), "x"));
	CHECK(!memcmp(cursor_bytes(&c, 2), "yz", 2));
	CHECK(cursor_done(&c));
}

static void a_full_writer_stays_bad_and_writes_nothing(void)
{
	uint8_t bytes[3] = { 0, 0, 0xee };
	struct writer w = writer_over(bytes, 2);

	writer_u8(&w, 1);
	writer_u32(&w, 7);
	CHECK(w.bad);
	writer_u8(&w, 2);
	CHECK(w.bad && writer_len(&w) == 1);
	CHECK(bytes[1] == 0 && bytes[2] == 0xee);
}

int main(void)
{
	RUN(integers_are_little_endian);
	RUN(reading_past_the_end_is_sticky);
	RUN(a_huge_length_does_not_wrap);
	RUN(a_string_needs_its_nul_inside);
	RUN(no_bytes_are_read_from_nothing);
	RUN(what_is_written_is_read_back);
	RUN(a_full_writer_stays_bad_and_writes_nothing);
	return DONE();
}
