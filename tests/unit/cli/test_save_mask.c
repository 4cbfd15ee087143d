/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_save_mask.c - placeholders of secrets out of the files of a sandbox
 */
#include "cli/save_mask.h"

#include <stdbool.h>

#include "lib/tap.h"

#define KEY "sk-ant-0123456789abcdefghijABCDEFGHIJ"
#define TAIL "abcdefghijABCDEFGHIJ"
#define STARS_20 "********************"
#define STARS_37 STARS_20 "*****************"

static bool becomes(const char *text, const char *wanted, size_t count)
{
	char bytes[256] = "";
	size_t len = strlen(text);

	memcpy(bytes, text, len);
	return save_mask_bytes(bytes, len, KEY) == count &&
	       !strcmp(bytes, wanted);
}

static void whole_ones_and_their_ends_are_masked(void)
{
	CHECK(becomes(KEY, STARS_37, 1));
	CHECK(becomes("a " KEY " b " TAIL, "a " STARS_37 " b " STARS_20, 2));
	CHECK(becomes(TAIL KEY TAIL, STARS_20 STARS_37 STARS_20, 3));
	CHECK(becomes("x" TAIL, "x" STARS_20, 1));
}

static void all_else_stays(void)
{
	CHECK(becomes("", "", 0));
	CHECK(becomes("sk-ant-0123456789", "sk-ant-0123456789", 0));
	CHECK(becomes("abcdefghijABCDEFGHI", "abcdefghijABCDEFGHI", 0));
}

static void one_that_is_cut_anywhere_stays_or_is_masked(void)
{
	for (size_t len = 0; len < strlen(KEY); len++) {
		char bytes[64] = "";

		memcpy(bytes, KEY, len);
		CHECK(save_mask_bytes(bytes, len, KEY) == 0);
		CHECK(!memcmp(bytes, KEY, len));
	}
}

static void a_short_text_is_no_placeholder(void)
{
	char bytes[] = "short short";

	CHECK(save_mask_bytes(bytes, strlen(bytes), "short") == 0);
	CHECK(save_mask_bytes(bytes, strlen(bytes), "") == 0);
}

int main(void)
{
	RUN(whole_ones_and_their_ends_are_masked);
	RUN(all_else_stays);
	RUN(one_that_is_cut_anywhere_stays_or_is_masked);
	RUN(a_short_text_is_no_placeholder);
	return DONE();
}
