/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.c - walking over foreign text without copying or changing it
 */
#include "guest/slice.h"

#include <string.h>

struct slice slice_of(const char *text)
{
	return (struct slice){ text, strlen(text) };
}

bool slice_cut(struct slice *rest, char separator, struct slice *part)
{
	const char *end;

	if (!rest->start)
		return false;
	end = rest->len ? memchr(rest->start, separator, rest->len) : NULL;
	if (!end) {
		*part = *rest;
		*rest = (struct slice){ NULL, 0 };
		return true;
	}
	*part = (struct slice){ rest->start, (size_t)(end - rest->start) };
	rest->len -= part->len + 1;
	rest->start = end + 1;
	return true;
}

bool slice_line(struct slice *text, struct slice *line)
{
	/* A newline ends a line; it does not begin an empty one at the end. */
	return text->len > 0 && slice_cut(text, '\n', line);
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

struct slice slice_trim(struct slice slice)
{
	while (slice.len && is_blank(slice.start[0])) {
		slice.start++;
		slice.len--;
	}
	while (slice.len && is_blank(slice.start[slice.len - 1]))
		slice.len--;
	return slice;
}

bool slice_equals(struct slice slice, const char *text)
{
	size_t len = strlen(text);

	return slice.len == len && (!len || !memcmp(slice.start, text, len));
}

int slice_copy(struct slice slice, char *dst, size_t size)
{
	dst[0] = '\0';
	if (slice.len >= size)
		return -1;
	if (slice.len && memchr(slice.start, '\0', slice.len))
		return -1;
	if (slice.len)
		memcpy(dst, slice.start, slice.len);
	dst[slice.len] = '\0';
	return 0;
}

int slice_number(struct slice slice, uint64_t max, uint64_t *out)
{
	uint64_t value = 0;

	if (!slice.len)
		return -1;
	for (size_t i = 0; i < slice.len; i++) {
		unsigned digit = (unsigned)slice.start[i] - '0';

		if (digit > 9 || value > (max - digit) / 10)
			return -1;
		value = value * 10 + digit;
	}
	if (value > max)
		return -1;
	*out = value;
	return 0;
}
