/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pkt_filter.c - words of a guest's git on their way to a terminal
 */
#include "cli/pkt_filter.h"
#include "lib/tap.h"

/* 0 when in, cut into pieces of step bytes, comes out as expected. */
static int pass(const char *in, size_t len, size_t step, const char *expected)
{
	struct pkt_filter filter = { 0 };
	uint8_t bytes[256];

	memcpy(bytes, in, len);
	for (size_t at = 0; at < len; at += step) {
		size_t part = len - at < step ? len - at : step;

		if (pkt_filter(&filter, bytes + at, part) < 0)
			return -1;
	}
	return memcmp(bytes, expected, len) ? 1 : 0;
}

#define PASS(in, step, expected) pass(in, sizeof(in) - 1, step, expected)

/* what a pack starts with, in a line of its own */
#define PACK                 \
	"000d\001PACK\0\0\0" \
	"\002"

static void objects_are_not_touched(void)
{
	static const char in[] = PACK "000a\001\033\x7f\x9b\002\0"
				      "0005\001"
				      "0008\001\033[m"
				      "0000";

	CHECK(PASS(in, 1, in) == 0 && PASS(in, 3, in) == 0);
	CHECK(PASS(in, 100, in) == 0);
}

static void a_band_alone_makes_no_objects(void)
{
	CHECK(PASS("0009\001\xc2\x9bzz0000", 1, "0009\001\xc2?zz0000") == 0);
	CHECK(PASS("000a\001PACK\x9b"
		   "0000",
		   2,
		   "000a\001PACK?"
		   "0000") == 0);
	/* and a mark ends them */
	CHECK(PASS(PACK "0000"
			"0007\001\033z",
		   5,
		   PACK "0000"
			"0007\001?z") == 0);
}

static void words_between_objects_lose_their_escapes(void)
{
	CHECK(PASS(PACK "0007\002\033z"
			"0007\001\033z",
		   4,
		   PACK "0007\002?z"
			"0007\001\033z") == 0);
}

static void objects_and_the_rest_are_counted(void)
{
	static const char in[] = PACK "0007\001\033z"
				      "0007\002ab"
				      "0000";
	struct pkt_filter filter = { 0 };
	uint8_t bytes[sizeof(in)];

	memcpy(bytes, in, sizeof(in));
	CHECK(pkt_filter(&filter, bytes, sizeof(in) - 1) == 0);
	CHECK(filter.data_bytes == 1 + 2);
	CHECK(filter.data_bytes + filter.text_bytes == sizeof(in) - 1);
}

static void progress_loses_its_escapes(void)
{
	CHECK(PASS("000b\002a\033[1m\r0000", 1, "000b\002a?[1m\r0000") == 0);
	CHECK(PASS("000b\002a\033[1m\r0000", 3, "000b\002a?[1m\r0000") == 0);
	CHECK(PASS("0009\003\007\x7f\nx0000", 4, "0009\003??\nx0000") == 0);
}

static void names_in_utf8_stay_and_c1_controls_go(void)
{
	CHECK(PASS("0009\xc3\x84\xe2\x82\xac", 1, "0009\xc3\x84\xe2\x82\xac") ==
	      0);
	CHECK(PASS("0008\xc2\x9bzz", 1, "0008\xc2?zz") == 0);
	CHECK(PASS("0007\x9bzz", 2, "0007?zz") == 0);
}

static void marks_without_a_line_pass(void)
{
	CHECK(PASS("000000010002"
		   "0004"
		   "0005x",
		   5,
		   "000000010002"
		   "0004"
		   "0005x") == 0);
}

static void capabilities_after_nul_stay(void)
{
	static const char in[] = "000bab\0ofs";

	CHECK(PASS(in, 2, in) == 0);
}

static void what_is_no_length_is_refused(void)
{
	CHECK(PASS("garbage", 1, "") < 0);
	CHECK(PASS("0003", 1, "") < 0);
	CHECK(PASS("fff1", 4, "") < 0);
	CHECK(PASS("0005x-0", 7, "") < 0);
}

int main(void)
{
	RUN(objects_are_not_touched);
	RUN(a_band_alone_makes_no_objects);
	RUN(words_between_objects_lose_their_escapes);
	RUN(objects_and_the_rest_are_counted);
	RUN(progress_loses_its_escapes);
	RUN(names_in_utf8_stay_and_c1_controls_go);
	RUN(marks_without_a_line_pass);
	RUN(capabilities_after_nul_stay);
	RUN(what_is_no_length_is_refused);
	return DONE();
}
