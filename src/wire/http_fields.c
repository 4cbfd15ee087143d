/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_fields.c - the header fields of one HTTP message, in any version
 */
#include "wire/http_fields.h"

#include <stdint.h>

#define TOKEN 1  /* RFC 9110, 5.6.2 */
#define VALUE 2  /* tab, space, visible, and bytes above ASCII */
#define TARGET 4 /* visible, but no fragment */
#define WORD (TOKEN | VALUE | TARGET)
#define MARK (VALUE | TARGET) /* visible, in no token */

static const uint8_t classes[256] = {
	['\t'] = VALUE,       [' '] = VALUE,         ['!'] = WORD,
	['"'] = MARK,         ['#'] = TOKEN | VALUE, ['$' ... '\''] = WORD,
	['(' ... ')'] = MARK, ['*' ... '+'] = WORD,  [','] = MARK,
	['-' ... '.'] = WORD, ['/'] = MARK,          ['0' ... '9'] = WORD,
	[':' ... '@'] = MARK, ['A' ... 'Z'] = WORD,  ['[' ... ']'] = MARK,
	['^' ... 'z'] = WORD, ['{'] = MARK,          ['|'] = WORD,
	['}'] = MARK,         ['~'] = WORD,          [0x80 ... 0xff] = VALUE,
};

static bool all_are(struct span text, uint8_t class)
{
	for (size_t i = 0; i < text.len; i++) {
		if (!(classes[(uint8_t)text.bytes[i]] & class))
			return false;
	}
	return true;
}

bool http_is_token(struct span text)
{
	return text.len > 0 && all_are(text, TOKEN);
}

bool http_is_value(struct span text)
{
	return all_are(text, VALUE);
}

bool http_is_target(struct span text)
{
	return text.len > 0 && all_are(text, TARGET);
}

struct span http_trim(struct span text)
{
	while (text.len > 0 && (text.bytes[0] == ' ' || text.bytes[0] == '\t'))
		text = span_over(text.bytes + 1, text.len - 1);
	while (text.len > 0 && (text.bytes[text.len - 1] == ' ' ||
				text.bytes[text.len - 1] == '\t'))
		text.len--;
	return text;
}

void http_fields_init(struct http_fields *fields)
{
	fields->count = 0;
	http_fields_use_arena(fields, NULL, 0);
}

void http_fields_use_arena(struct http_fields *fields, char *arena,
			   size_t arena_size)
{
	fields->arena = arena;
	fields->arena_size = arena_size;
	fields->arena_used = 0;
}

int http_fields_add(struct http_fields *fields, struct span name,
		    struct span value)
{
	value = http_trim(value);
	if (fields->count == HTTP_FIELDS_MAX || !http_is_token(name) ||
	    !http_is_value(value))
		return -1;
	fields->list[fields->count++] = (struct http_field){ name, value };
	return 0;
}

int http_fields_copy(struct http_fields *fields, struct span *text)
{
	char *copy;

	if (text->len > fields->arena_size - fields->arena_used)
		return -1;
	if (text->len == 0)
		return 0;
	copy = fields->arena + fields->arena_used;
	memcpy(copy, text->bytes, text->len);
	fields->arena_used += text->len;
	*text = span_over(copy, text->len);
	return 0;
}

int http_fields_add_copy(struct http_fields *fields, struct span name,
			 struct span value)
{
	size_t used = fields->arena_used;

	if (http_fields_copy(fields, &name) == 0 &&
	    http_fields_copy(fields, &value) == 0 &&
	    http_fields_add(fields, name, value) == 0)
		return 0;
	fields->arena_used = used;
	return -1;
}

const struct http_field *http_fields_find(const struct http_fields *fields,
					  const char *name,
					  const struct http_field *after)
{
	const struct http_field *field = after ? after + 1 : fields->list;
	struct span wanted = span_of(name);

	for (; field < fields->list + fields->count; field++) {
		if (span_matches(field->name, wanted))
			return field;
	}
	return NULL;
}

size_t http_fields_count(const struct http_fields *fields, const char *name)
{
	const struct http_field *field = NULL;
	size_t count = 0;

	while ((field = http_fields_find(fields, name, field)))
		count++;
	return count;
}

size_t http_fields_remove(struct http_fields *fields, const char *name)
{
	struct span wanted = span_of(name);
	size_t kept = 0, removed;

	for (size_t i = 0; i < fields->count; i++) {
		if (!span_matches(fields->list[i].name, wanted))
			fields->list[kept++] = fields->list[i];
	}
	removed = fields->count - kept;
	fields->count = kept;
	return removed;
}

bool http_list_next(struct span *rest, struct span *element)
{
	while (rest->len > 0) {
		const char *comma = memchr(rest->bytes, ',', rest->len);
		size_t len = comma ? (size_t)(comma - rest->bytes) : rest->len;
		size_t used = comma ? len + 1 : len;

		*element = http_trim(span_over(rest->bytes, len));
		*rest = span_over(rest->bytes + used, rest->len - used);
		if (element->len > 0)
			return true;
	}
	return false;
}

bool http_fields_has_token(const struct http_fields *fields, const char *name,
			   const char *token)
{
	const struct http_field *field = NULL;
	struct span wanted = span_of(token);

	while ((field = http_fields_find(fields, name, field))) {
		struct span rest = field->value, element;

		while (http_list_next(&rest, &element)) {
			if (span_matches(element, wanted))
				return true;
		}
	}
	return false;
}
