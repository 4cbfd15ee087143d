/* SPDX-License-Identifier: Apache-2.0 */
/*
 * json_line.c - one JSON object on one line, without an object in memory
 */
#include "net/json_line.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/text.h"

#define CLOSING_BYTES 2 /* brace and line end, always kept free */

static bool put(struct json_line *line, const char *bytes, size_t len)
{
	if (line->size - line->len < len + CLOSING_BYTES)
		return false;
	memcpy(line->text + line->len, bytes, len);
	line->len += len;
	return true;
}

void json_line_begin(struct json_line *line, char *text, size_t size)
{
	*line = (struct json_line){ .text = text, .size = size };
	put(line, "{", 1);
}

static bool put_key(struct json_line *line, const char *key)
{
	return (line->len == 1 || put(line, ",", 1)) && put(line, "\"", 1) &&
	       put(line, key, strlen(key)) && put(line, "\":", 2);
}

static bool put_escaped(struct json_line *line, unsigned char c)
{
	char escaped[8];

	if (c == '"' || c == '\\') {
		escaped[0] = '\\';
		escaped[1] = (char)c;
		return put(line, escaped, 2);
	}
	/* Many readers do not take a NUL: it becomes what stands for nothing.
	 */
	(void)text_format(escaped, sizeof(escaped), "\\u%04x", c ? c : 0xfffdu);
	return put(line, escaped, 6);
}

static bool put_string(struct json_line *line, const char *value, size_t len)
{
	size_t plain = 0;

	if (!put(line, "\"", 1))
		return false;
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)value[i];

		if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\')
			continue;
		if (!put(line, value + plain, i - plain) ||
		    !put_escaped(line, c))
			return false;
		plain = i + 1;
	}
	return put(line, value + plain, len - plain) && put(line, "\"", 1);
}

void json_line_bytes(struct json_line *line, const char *key, const char *value,
		     size_t len)
{
	size_t before = line->len;

	if (!put_key(line, key) || !put_string(line, value, len))
		line->len = before;
}

void json_line_text(struct json_line *line, const char *key, const char *value)
{
	if (value)
		json_line_bytes(line, key, value, strlen(value));
}

static void put_word(struct json_line *line, const char *key, const char *word)
{
	size_t before = line->len;

	if (!put_key(line, key) || !put(line, word, strlen(word)))
		line->len = before;
}

void json_line_number(struct json_line *line, const char *key, uint64_t value)
{
	char digits[24];

	(void)text_format(digits, sizeof(digits), "%" PRIu64, value);
	put_word(line, key, digits);
}

void json_line_null(struct json_line *line, const char *key)
{
	put_word(line, key, "null");
}

size_t json_line_end(struct json_line *line)
{
	line->text[line->len++] = '}';
	line->text[line->len++] = '\n';
	return line->len;
}
