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

static bool same_file(const struct line *one, const struct line *other)
{
	return one->inode == other->inode && one->device == other->device;
}

static uint64_t length(const struct ram_map *map)
{
	const struct ram_map_part *last;

	if (!map->count)
		return 0;
	last = &map->parts[map->count - 1];
	return last->offset + last->len;
}

/* The list is sorted by address; QEMU maps the file in one piece. */
int ram_map_parse(const char *text, size_t len, uint64_t bytes,
		  struct ram_map *map, struct error *err)
{
	const char *at = text, *end = text + len;
	struct line first = { 0 };

	*map = (struct ram_map){ 0 };
	while (at < end) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		struct line line = { 0 };
		bool good;

		if (!stop)
			break;
		good = parse_line(at, stop, &line) && line.private &&
		       line.inode;
		at = stop + 1;
		if (!good)
			continue;
		if (map->count &&
		    (!same_file(&first, &line) || line.offset != length(map)))
			map->count = 0;
		if (!map->count && line.offset != 0)
			continue;
		if (map->count == RAM_MAP_PARTS)
			break;
		if (!map->count)
			first = line;
		map->parts[map->count++] =
			(struct ram_map_part){ line.start, line.offset,
					       line.end - line.start };
		if (length(map) == bytes)
			return 0;
	}
	map->count = 0;
	return error_set(err, 0, "QEMU does not show the guest's memory");
}
