/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_words.h - the words of each line of a settings file
 *
 * Blanks are spaces, tabs and CR; `#` and `;` at the beginning of a word end
 * the line. A line with a NUL in it has no words. Words beyond the maximum are
 * dropped. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LINE_WORDS_MAX 64

struct line_words {
	const char *words[LINE_WORDS_MAX]; /* not terminated */
	size_t lens[LINE_WORDS_MAX];
	size_t count;

	const char *rest; /* set before the first call */
	size_t left;
};

/* The next line, which may have no word; false at the end. */
bool line_words_next(struct line_words *line);
bool line_word_is(const struct line_words *line, size_t at, const char *text);
