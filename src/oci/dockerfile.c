/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dockerfile.c - which images a Dockerfile builds on
 */
#include "oci/dockerfile.h"

#include <string.h>
#include <strings.h>

#define STAGES_MAX 64
#define STAGE_MAX 128

struct word {
	const char *start;
	size_t len;
};

struct stages {
	char names[STAGES_MAX][STAGE_MAX];
	size_t count;
};

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static struct word next_word(struct word *rest)
{
	struct word word;

	while (rest->len && is_space(*rest->start))
		rest->start++, rest->len--;
	word = (struct word){ rest->start, 0 };
	while (rest->len && !is_space(*rest->start))
		rest->start++, rest->len--, word.len++;
	return word;
}

static bool is(struct word word, const char *text)
{
	return word.len == strlen(text) &&
	       strncasecmp(word.start, text, word.len) == 0;
}

static bool copy(struct word word, char *dst, size_t size)
{
	if (!word.len || word.len >= size || memchr(word.start, 0, word.len))
		return false;
	memcpy(dst, word.start, word.len);
	dst[word.len] = '\0';
	return true;
}

static bool is_stage(const struct stages *stages, struct word word)
{
	for (size_t i = 0; i < stages->count; i++)
		if (is(word, stages->names[i]))
			return true;
	return false;
}

static bool is_known(const struct dockerfile_bases *bases, struct word word)
{
	for (size_t i = 0; i < bases->count; i++)
		if (strlen(bases->names[i]) == word.len &&
		    memcmp(bases->names[i], word.start, word.len) == 0)
			return true;
	return false;
}

/* "FROM [--platform=X] NAME [AS STAGE]", the FROM taken off. */
static void take_from(struct word line, struct stages *stages,
		      struct dockerfile_bases *bases)
{
	struct word name = next_word(&line);

	while (name.len > 2 && memcmp(name.start, "--", 2) == 0) {
		bases->alone = false;
		name = next_word(&line);
	}
	if (name.len && !memchr(name.start, '$', name.len) &&
	    !is(name, "scratch") && !is_stage(stages, name) &&
	    !is_known(bases, name) && bases->count < DOCKERFILE_BASES_MAX &&
	    copy(name, bases->names[bases->count], REFERENCE_TEXT_MAX))
		bases->count++;
	if (is(next_word(&line), "as") && stages->count < STAGES_MAX &&
	    copy(next_word(&line), stages->names[stages->count], STAGE_MAX))
		stages->count++;
}

static bool goes_on(struct word line)
{
	while (line.len && is_space(line.start[line.len - 1]))
		line.len--;
	return line.len && line.start[line.len - 1] == '\\';
}

void dockerfile_find_bases(const char *text, size_t len,
			   struct dockerfile_bases *bases)
{
	struct stages stages = { .count = 0 };
	bool inside = false; /* of an instruction of several lines */
	size_t instructions = 0;

	bases->count = 0;
	bases->alone = true;
	while (len) {
		const char *end = memchr(text, '\n', len);
		struct word line = { text, end ? (size_t)(end - text) : len };
		struct word rest = line, first = next_word(&rest);

		len -= line.len + (end ? 1 : 0);
		text += line.len + (end ? 1 : 0);
		/* comments may stand between the lines of one */
		if (!first.len || first.start[0] == '#')
			continue;
		if (!inside && is(first, "from"))
			take_from(rest, &stages, bases);
		inside = goes_on(line);
		instructions += 1 + inside;
	}
	if (instructions != 1 || bases->count != 1)
		bases->alone = false;
}
