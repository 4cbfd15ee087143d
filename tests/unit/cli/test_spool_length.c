/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_spool_length.c - what a machine that saves says of its second disk
 */
#include "cli/spool_length.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

#define LIMIT 1000000u

/* -1 where it is refused; otherwise its length. */
static long long length_of(const char *text, size_t len, size_t cut)
{
	struct spool_length length = { .limit = LIMIT };
	struct error err = { 0 };

	if (spool_length_feed(&length, text, cut, &err) < 0 ||
	    spool_length_feed(&length, text + cut, len - cut, &err) < 0 ||
	    spool_length_finish(&length, &err) < 0)
		return err.code == EPROTO || err.code == EFBIG ? -1 : -2;
	return (long long)length.bytes;
}

static void the_last_line_counts_wherever_it_is_cut(void)
{
	static const char text[] = "0\n512\n512\n777216\n";

	for (size_t cut = 0; cut < sizeof(text); cut++)
		CHECK(length_of(text, sizeof(text) - 1, cut) == 777216);
	CHECK(length_of("1000000\n", 8, 0) == LIMIT);
}

static void an_end_in_a_line_is_no_end(void)
{
	static const char text[] = "777216\n";

	for (size_t len = 0; len < sizeof(text) - 1; len++)
		CHECK(length_of(text, len, 0) == -1);
}

static void everything_else_is_refused(void)
{
	static const char *const texts[] = {
		"\n",
		"-1\n",
		"+1\n",
		" 1\n",
		"1 \n",
		"0x10\n",
		"1000001\n",
		"2\n1\n",
		"1\n\n",
		"1\r\n",
		"99999999999999999999999\n",
		"000000000000000000000000000000000000001\n",
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		CHECK(length_of(texts[i], strlen(texts[i]), 0) == -1);
	CHECK(length_of("1\0\n", 3, 0) == -1);
}

int main(void)
{
	RUN(the_last_line_counts_wherever_it_is_cut);
	RUN(an_end_in_a_line_is_no_end);
	RUN(everything_else_is_refused);
	return DONE();
}
