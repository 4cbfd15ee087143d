/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_text.c - unit tests of base/text.h
 */
#include "base/text.h"

#include "base/own.h"
#include "lib/tap.h"

static void copy_cuts_and_says_so(void)
{
	char dst[4];

	CHECK(text_copy(dst, sizeof(dst), "abc") == 0);
	CHECK(strcmp(dst, "abc") == 0);
	CHECK(text_copy(dst, sizeof(dst), "abcd") == -1);
	CHECK(strcmp(dst, "abc") == 0);
	CHECK(text_copy(dst, 1, "") == 0 && dst[0] == '\0');
}

static void format_cuts_and_says_so(void)
{
	char dst[4];

	CHECK(text_format(dst, sizeof(dst), "%d", 123) == 0);
	CHECK(strcmp(dst, "123") == 0);
	CHECK(text_format(dst, sizeof(dst), "%d", 1234) == -1);
	CHECK(strcmp(dst, "123") == 0);
}

static void starts_and_ends_compare_whole_parts(void)
{
	CHECK(text_starts("prefix", "pre") && text_starts("a", ""));
	CHECK(!text_starts("pr", "pre"));
	CHECK(text_is_within("/a/b", "/a") && text_is_within("/a", "/a"));
	CHECK(!text_is_within("/ab", "/a") && !text_is_within("/", "/a"));
	CHECK(text_ends("a.img", ".img") && text_ends("a", ""));
	CHECK(!text_ends("img", ".img"));
}

static void numbers_are_decimal_and_whole(void)
{
	static const char *const bad[] = { "",
					   " 1",
					   "1 ",
					   "+1",
					   "-1",
					   "0x1",
					   "1a",
					   "1.0",
					   "18446744073709551616",
					   "99999999999999999999999" };
	uint64_t value = 7;

	CHECK(text_to_u64("0", 0, 9, &value) == 0 && value == 0);
	CHECK(text_to_u64("18446744073709551615", 0, UINT64_MAX, &value) == 0);
	CHECK(value == UINT64_MAX);
	CHECK(text_to_u64("007", 7, 7, &value) == 0 && value == 7);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(text_to_u64(bad[i], 0, UINT64_MAX, &value) == -1);
	CHECK(text_to_u64("10", 0, 9, &value) == -1);
	CHECK(text_to_u64("1", 2, 9, &value) == -1);
	CHECK(value == 7);
}

static void sizes_have_binary_units(void)
{
	static const struct {
		const char *text;
		uint64_t bytes;
	} good[] = {
		{ "0", 0 },
		{ "17", 17 },
		{ "17B", 17 },
		{ "1k", 1024 },
		{ "512M", 512ULL << 20 },
		{ "2048m", 2048ULL << 20 },
		{ "4G", 4ULL << 30 },
		{ "4GB", 4ULL << 30 },
		{ "4GiB", 4ULL << 30 },
		{ "1T", 1ULL << 40 },
		{ "16383P", 16383ULL << 50 },
	};
	static const char *const bad[] = { "",    "G",      "4X",   "4GX",
					   "4 G", "4Gi",    "4iB",  "-4G",
					   "4G ", "16384P", "1.5G", "4BB" };
	uint64_t bytes;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		bytes = 99;
		CHECK(text_to_size(good[i].text, &bytes) == 0);
		CHECK(bytes == good[i].bytes);
	}
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		CHECK(text_to_size(bad[i], &bytes) == -1);
}

static void shown_sizes_have_at_most_three_digits(void)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 999, "999 B" },
		{ 1000, "0.9 KB" },
		{ 1024, "1.0 KB" },
		{ 1536, "1.5 KB" },
		{ 10 * 1024, "10 KB" },
		{ 3ULL << 29, "1.5 GB" },
		{ 1023ULL << 20, "0.9 GB" },
		{ 100ULL << 30, "100 GB" },
		{ UINT64_MAX, "15 EB" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char dst[16];

		text_from_size(rows[i].bytes, dst, sizeof(dst));
		CHECK(strcmp(dst, rows[i].text) == 0);
	}
}

static bool shows(const char *src, size_t len, size_t size, const char *want)
{
	char dst[128];

	memset(dst, '#', sizeof(dst));
	text_printable(src, len, dst, size);
	if (strcmp(dst, want) == 0 && dst[size] == '#')
		return true;
	printf("# got \"%s\", want \"%s\"\n", dst, want);
	return false;
}

#define SHOWS(src, want) shows(src, sizeof(src) - 1, 100, want)

static void good_text_passes_unchanged(void)
{
	CHECK(SHOWS("", ""));
	CHECK(SHOWS("plain ~ text", "plain ~ text"));
	CHECK(SHOWS("Gr\xc3\xbc\xc3\x9f"
		    "e \xe2\x82\xac \xf0\x9f\x90\xb3",
		    "Gr\xc3\xbc\xc3\x9f"
		    "e \xe2\x82\xac \xf0\x9f\x90\xb3"));
}

static void control_characters_are_escaped(void)
{
	CHECK(SHOWS("a\x1b[2Jb\n\t\r\x7f", "a\\x1b[2Jb\\x0a\\x09\\x0d\\x7f"));
	CHECK(SHOWS("\0x", "\\x00x"));
	/* C1: U+009B is a CSI for some terminals. */
	CHECK(SHOWS("\xc2\x9b", "\\xc2\\x9b"));
	CHECK(SHOWS("\xc2\xa0", "\xc2\xa0"));
}

static void bidirectional_overrides_are_escaped(void)
{
	CHECK(SHOWS("\xe2\x80\xaa", "\\xe2\\x80\\xaa"));
	CHECK(SHOWS("\xe2\x80\xae", "\\xe2\\x80\\xae"));
	CHECK(SHOWS("\xe2\x81\xa6", "\\xe2\\x81\\xa6"));
	CHECK(SHOWS("\xe2\x81\xa9", "\\xe2\\x81\\xa9"));
	CHECK(SHOWS("\xe2\x80\xaf", "\xe2\x80\xaf"));
}

static void broken_utf8_is_escaped_byte_by_byte(void)
{
	CHECK(SHOWS("\xff\xfe", "\\xff\\xfe"));
	CHECK(SHOWS("\x80z", "\\x80z"));
	CHECK(SHOWS("\xc3", "\\xc3"));
	CHECK(SHOWS("\xe2\x82z", "\\xe2\\x82z"));
	CHECK(SHOWS("\xc0\xaf", "\\xc0\\xaf"));          /* overlong */
	CHECK(SHOWS("\xed\xa0\x80", "\\xed\\xa0\\x80")); /* surrogate */
	CHECK(SHOWS("\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"));
	CHECK(SHOWS("\xf8\x88\x80\x80\x80", "\\xf8\\x88\\x80\\x80\\x80"));
}

static void long_text_is_cut_with_dots_between_characters(void)
{
	CHECK(shows("abcdef", 6, 7, "abcdef"));
	CHECK(shows("abcdefg", 7, 7, "abc..."));
	CHECK(shows("ab\xe2\x82\xac"
		    "cdef",
		    9, 9, "ab\xe2\x82\xac..."));
	CHECK(shows("ab\xe2\x82\xac"
		    "cdef",
		    9, 8, "ab..."));
	CHECK(shows("ab\x01xyz", 6, 8, "ab..."));
	CHECK(shows("abcdef", 6, 3, ".."));
	CHECK(shows("abcdef", 6, 1, ""));
}

static void hex_goes_both_ways(void)
{
	static const uint8_t bytes[] = { 0x00, 0x9f, 0xa5, 0xff };
	uint8_t back[4];
	char text[9];

	text_hex(bytes, sizeof(bytes), text);
	CHECK(strcmp(text, "009fa5ff") == 0);
	CHECK(text_unhex("009FA5ff", back, 4) == 0);
	CHECK(memcmp(bytes, back, 4) == 0);
	CHECK(text_unhex("009fa5f", back, 4) == -1);
	CHECK(text_unhex("009fa5ff0", back, 4) == -1);
	CHECK(text_unhex("009fa5fg", back, 4) == -1);
	CHECK(text_unhex("", back, 4) == -1);
	CHECK(text_unhex("", back, 0) == 0);
}

static void distance_counts_edits(void)
{
	CHECK(text_distance("", "") == 0);
	CHECK(text_distance("", "abc") == 3);
	CHECK(text_distance("abc", "") == 3);
	CHECK(text_distance("kitten", "sitting") == 3);
	CHECK(text_distance("snapshto", "snapshot") == 2);
	CHECK(text_distance("same", "same") == 0);
}

static void the_nearest_word_is_found_if_it_is_near(void)
{
	struct text_nearest nearest;

	text_nearest_init(&nearest, "inspekt");
	text_nearest_offer(&nearest, "inspects");
	text_nearest_offer(&nearest, "inspect");
	text_nearest_offer(&nearest, "events");
	CHECK(!strcmp(nearest.best, "inspect"));
	text_nearest_init(&nearest, "lss");
	text_nearest_offer(&nearest, "ls");
	CHECK(!strcmp(nearest.best, "ls"));
	text_nearest_init(&nearest, "rnu");
	text_nearest_offer(&nearest, "run");
	CHECK(nearest.best);
	text_nearest_init(&nearest, "two");
	text_nearest_offer(&nearest, "one");
	CHECK(!nearest.best);
}

int main(void)
{
	RUN(the_nearest_word_is_found_if_it_is_near);
	RUN(copy_cuts_and_says_so);
	RUN(format_cuts_and_says_so);
	RUN(starts_and_ends_compare_whole_parts);
	RUN(numbers_are_decimal_and_whole);
	RUN(sizes_have_binary_units);
	RUN(shown_sizes_have_at_most_three_digits);
	RUN(good_text_passes_unchanged);
	RUN(control_characters_are_escaped);
	RUN(bidirectional_overrides_are_escaped);
	RUN(broken_utf8_is_escaped_byte_by_byte);
	RUN(long_text_is_cut_with_dots_between_characters);
	RUN(hex_goes_both_ways);
	RUN(distance_counts_edits);
	return DONE();
}
