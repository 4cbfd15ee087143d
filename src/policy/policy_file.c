/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_file.c - policy text, line by line
 */
#include "policy/policy_file.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct policy_file policy_file_of(const char *text, size_t len)
{
	if (len == 0)
		text = ""; /* an empty buffer has none */
	return (struct policy_file){ .at = text, .end = text + len };
}

/* Sets the content: from the first word to the comment. */
static void find_content(struct policy_line *line, size_t len)
{
	const char *start = line->start, *end = start + len, *at = start;

	while (at < end && !(*at == '#' && (at == start || is_space(at[-1]))))
		at++;
	end = at;
	while (start < end && is_space(*start))
		start++;
	while (end > start && is_space(end[-1]))
		end--;
	line->content = start;
	line->len = (size_t)(end - start);
}

/* The second of two words, when the first is `word`. */
static bool takes_word(const struct policy_line *line, const char *word,
		       const char **value, size_t *len)
{
	size_t first = strlen(word);
	const char *end = line->content + line->len;

	if (line->len < first || memcmp(line->content, word, first) != 0 ||
	    (line->len > first && !is_space(line->content[first])))
		return false;
	*value = line->content + first;
	while (*value < end && is_space(**value))
		(*value)++;
	*len = (size_t)(end - *value);
	return true;
}

static int read_default(struct policy_line *line, const char *value, size_t len,
			struct error *err)
{
	line->kind = POLICY_LINE_DEFAULT;
	line->allow = len == 5 && memcmp(value, "allow", 5) == 0;
	if (line->allow || (len == 4 && memcmp(value, "deny", 4) == 0))
		return 1;
	return error_set(err, 0, "default is `allow` or `deny`");
}

/* A name of a file beside others: letters, digits, `-`, `_`. */
static int read_preset(struct policy_line *line, const char *value, size_t len,
		       struct error *err)
{
	line->kind = POLICY_LINE_PRESET;
	line->preset = value;
	line->preset_len = len;
	for (size_t i = 0; i < len; i++) {
		char c = value[i];

		if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    !(c >= '0' && c <= '9') && c != '-' && c != '_')
			return error_set(err, 0, "not the name of a preset");
	}
	if (len == 0 || len > POLICY_PRESET_NAME_MAX)
		return error_set(err, 0, "preset takes a name");
	return 1;
}

static int classify(struct policy_line *line, struct error *err)
{
	const char *value;
	size_t len;

	if (line->len == 0)
		return 1;
	if (takes_word(line, "default", &value, &len))
		return read_default(line, value, len, err);
	if (takes_word(line, "preset", &value, &len))
		return read_preset(line, value, len, err);
	line->kind = POLICY_LINE_RULE;
	return 1;
}

int policy_file_next(struct policy_file *file, struct policy_line *line,
		     struct error *err)
{
	const char *feed;
	size_t len;

	*line = (struct policy_line){ .start = file->at,
				      .number = ++file->number };
	if (file->at == file->end)
		return 0;
	feed = memchr(file->at, '\n', (size_t)(file->end - file->at));
	len = (size_t)((feed ? feed : file->end) - file->at);
	line->size = len + (feed != NULL);
	file->at += line->size;
	if (len > POLICY_LINE_MAX)
		return error_set(err, 0, "the line is too long");
	if (memchr(line->start, '\0', len))
		return error_set(err, 0, "a NUL byte");
	find_content(line, len);
	return classify(line, err);
}
