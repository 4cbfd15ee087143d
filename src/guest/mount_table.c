/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mount_table.c - lines of /proc/self/mountinfo
 *
 * "36 35 0:40 / /the/path rw,nosuid shared:7 - fuse.type source rw,user_id=0"
 */
#include "guest/mount_table.h"

#include <string.h>

#define PATH_FIELD 4

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* Spaces, tabs, newlines and backslashes are written as "\ooo". */
static int unescape(struct slice text, char *path, size_t size)
{
	size_t len = 0;

	for (size_t i = 0; i < text.len; i++) {
		const char *at = text.start + i;
		char c = *at;

		if (c == '\\' && text.len - i > 3 && is_octal(at[1]) &&
		    is_octal(at[2]) && is_octal(at[3])) {
			c = (char)((at[1] - '0') << 6 | (at[2] - '0') << 3 |
				   (at[3] - '0'));
			i += 3;
		}
		if (!c || len + 1 >= size)
			return -1;
		path[len++] = c;
	}
	path[len] = '\0';
	return len ? 0 : -1;
}

/* True when the line is one of that source. */
static bool parse_line(struct slice line, const char *source,
		       struct slice *path)
{
	struct slice word;

	for (int i = 0; i <= PATH_FIELD; i++) {
		if (!slice_cut(&line, ' ', path))
			return false;
	}
	while (slice_cut(&line, ' ', &word)) {
		if (slice_equals(word, "-"))
			return slice_cut(&line, ' ', &word) &&
			       slice_cut(&line, ' ', &word) &&
			       slice_equals(word, source);
	}
	return false;
}

bool mount_table_next(struct slice *rest, const char *source, char *path,
		      size_t size)
{
	struct slice line, escaped;

	while (slice_line(rest, &line)) {
		if (parse_line(line, source, &escaped) &&
		    !unescape(escaped, path, size))
			return true;
	}
	return false;
}
