/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_hook.c - the first word of what a hook wrote
 */
#include "launch/hook.h"

#include "base/own.h"
#include "lib/tap.h"

static void the_first_word_counts_if_it_is_one(void)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "once", "once" },
		{ "once\n", "once" },
		{ " \t\r\n always because", "always" },
		{ "deny\r\n", "deny" },
		{ "", "" },
		{ " \n", "" },
		{ "once.", "" },
		{ "Once", "" },
		{ "once\x01", "" },
		{ "\"once\"", "" },
		{ "abcdefghijklmno", "abcdefghijklmno" },
		{ "abcdefghijklmnop", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char word[HOOK_WORD_SIZE];

		hook_first_word(cases[i].text, strlen(cases[i].text), word);
		if (strcmp(word, cases[i].want))
			printf("# %zu: %s\n", i, word);
		CHECK(!strcmp(word, cases[i].want));
	}
}

static void nothing_is_read_behind_the_end(void)
{
	char word[HOOK_WORD_SIZE];

	hook_first_word("once", 2, word);
	CHECK(!strcmp(word, "on"));
	hook_first_word("once\0x", 6, word);
	CHECK(!word[0]);
	hook_first_word(NULL, 0, word);
	CHECK(!word[0]);
}

int main(void)
{
	RUN(the_first_word_counts_if_it_is_one);
	RUN(nothing_is_read_behind_the_end);
	return DONE();
}
