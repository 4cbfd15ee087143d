/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_words.c - the words of each line of a settings file
 */
#include "launch/line_words.h"

#include <string.h>

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static void split(struct line_words *line, const char *text, size_t len)
{
	size_t at = 0;

	while (at < len) {
		size_t begin;

		while (at < len && is_blank(text[at]))
			at++;
		if (at == len || text[at] == '#' || text[at] == ';' ||
		    line->count == LINE_WORDS_MAX)
			return;
		begin = at;
		while (at < len && !is_blank(text[at]))
			at++;
		line->words[line->count] = text + begin;
		line->lens[line->count++] = at - begin;
	}
}

bool line_words_next(struct line_words *line)
{
	const char *text = line->rest, *end;
	size_t len;

	line->count = 0;
	if (!line->left)
		return false;
	end = memchr(text, '\n', line->left);
	len = end ? (size_t)(end - text) : line->left;
	line->rest += end ? len + 1 : len;
	line->left -= end ? len + 1 : len;
	if (!memchr(text, '\0', len))
		split(line, text, len);
	return true;
}

bool line_word_is(const struct line_words *line, size_t at, const char *text)
{
	return at < line->count && line->lens[at] == strlen(text) &&
	       memcmp(line->words[at], text, line->lens[at]) == 0;
}
