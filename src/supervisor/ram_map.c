/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ram_map.c - where a guest's memory lies in QEMU
 *
 * The mapping is found by its size and not by the file's inode: on some file
 * systems the inode in this list is another than that of fstat().
 */
#include "supervisor/ram_map.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"

struct line {
	uint64_t start, end, offset, inode, device;
	bool private;
};

/* Hex or decimal digits up to `stop`, which is taken too. */
static bool number(const char **at, const char *end, unsigned base, char stop,
		   uint64_t *value)
{
	const char *from = *at;

	*value = 0;
	while (*at < end && **at != stop) {
		char c = **at;
		unsigned digit;

		if (c >= '0' && c <= '9')
			digit = (unsigned)(c - '0');
		else if (base == 16 && c >= 'a' && c <= 'f')
			digit = (unsigned)(c - 'a') + 10;
		else
			return false;
		if (*value > (UINT64_MAX - digit) / base)
			return false;
		*value = *value * base + digit;
		(*at)++;
	}
	if (*at == from || *at == end)
		return false;
	(*at)++;
	return true;
}

/* "7f0-7f1 rw-p 00000000 08:01 1234   /path" */
static bool parse_line(const char *at, const char *end, struct line *line)
{
	uint64_t major, minor;

	if (!number(&at, end, 16, '-', &line->start) ||
	    !number(&at, end, 16, ' ', &line->end) || end - at < 5)
		return false;
	line->private = at[0] == 'r' && at[1] == 'w' && at[3] == 'p';
	at += 5;
	if (!number(&at, end, 16, ' ', &line->offset) ||
	    !number(&at, end, 16, ':', &major) ||
	    !number(&at, end, 16, ' ', &minor) ||
	    !number(&at, end, 10, ' ', &line->inode))
		return false;
	line->device = major << 32 | (minor & 0xffffffff);
	return line->end > line->start;
}

static bool continues(const struct line *first, uint64_t end,
		      const struct line *line)
{
	if (line->start != end)
		return false;
	return !line->inode ||
	       (line->inode == first->inode && line->device == first->device &&
		line->offset == line->start - first->start);
}

/* The list is sorted by address; QEMU maps the file in one piece. */
int ram_map_parse(const char *text, size_t len, uint64_t bytes,
		  uint64_t *address, struct error *err)
{
	const char *at = text, *stop, *end = text + len;
	struct line first = { 0 };
	uint64_t seen = 0; /* the end of what belongs to it */

	for (; at < end; at = stop + 1) {
		struct line line = { 0 };

		stop = memchr(at, '\n', (size_t)(end - at));
		if (!stop)
			break;
		if (!parse_line(at, stop, &line) || !line.private)
			continue;
		if (seen && !continues(&first, seen, &line))
			seen = 0;
		if (!seen && (line.offset != 0 || !line.inode))
			continue;
		if (!seen)
			first = line;
		seen = line.end;
		if (seen - first.start < bytes)
			continue;
		/* The kernel may join anonymous memory with what follows. */
		if (seen - first.start == bytes || !line.inode) {
			*address = first.start;
			return 0;
		}
		seen = 0;
	}
	return error_set(err, 0, "QEMU does not show the guest's memory");
}
