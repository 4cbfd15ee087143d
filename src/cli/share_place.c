/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_place.c - where a path lies on its file system, whatever is mounted
 */
#include "cli/share_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "state/share_list.h"

struct mount_row {
	unsigned major, minor;
	char *root, *point; /* owned */
};

static void row_release(struct mount_row *row)
{
	free(row->root);
	free(row->point);
	*row = (struct mount_row){ 0 };
}

/* A word up to the next space; the kernel writes some bytes as \040. */
static char *take_word(const char **at, const char *end)
{
	char *word = xmalloc((size_t)(end - *at) + 1), *out = word;

	while (*at < end && **at == ' ')
		++*at;
	for (; *at < end && **at != ' '; ++*at) {
		unsigned code;

		if (**at == '\\' && end - *at > 3 &&
		    sscanf(*at + 1, "%3o", &code) == 1 && code < 256) {
			*out++ = (char)code;
			*at += 3;
		} else {
			*out++ = **at;
		}
	}
	*out = '\0';
	return word;
}

/* "36 35 98:0 /root /point ..." */
static bool row_parse(const char *line, const char *end, struct mount_row *row)
{
	int used = 0;

	*row = (struct mount_row){ 0 };
	if (sscanf(line, "%*u %*u %u:%u%n", &row->major, &row->minor, &used) !=
		    2 ||
	    line + used >= end)
		return false;
	line += used;
	row->root = take_word(&line, end);
	row->point = take_word(&line, end);
	if (row->root[0] == '/' && row->point[0] == '/')
		return true;
	row_release(row);
	return false;
}

static bool next_row(const char **mounts, struct mount_row *row)
{
	while (**mounts) {
		const char *line = *mounts, *end = line + strcspn(line, "\n");

		*mounts = end + (*end == '\n');
		if (row_parse(line, end, row))
			return true;
	}
	return false;
}

/* The rest of path, on the file system that is mounted at the row's point. */
static void set_place(struct share_place *place, const struct mount_row *row,
		      const char *path)
{
	size_t skip = strcmp(row->point, "/") ? strlen(row->point) : 0;
	const char *root = strcmp(row->root, "/") ? row->root : "";
	const char *rest = strlen(path) > skip ? path + skip : "";

	share_place_release(place);
	place->major = row->major;
	place->minor = row->minor;
	if (!strcmp(rest, "/"))
		rest = "";
	place->path =
		*root || *rest ? xasprintf("%s%s", root, rest) : xstrdup("/");
}

void share_place_release(struct share_place *place)
{
	free(place->path);
	place->path = NULL;
}

void share_place_of(const char *mounts, const char *path,
		    struct share_place *place)
{
	struct mount_row row;
	size_t best = 0;

	*place = (struct share_place){ 0 };
	while (next_row(&mounts, &row)) {
		/* of two at one point the later one covers the other */
		if (share_path_within(path, row.point) &&
		    strlen(row.point) >= best) {
			best = strlen(row.point);
			set_place(place, &row, path);
		}
		row_release(&row);
	}
}

bool share_place_next(const char **mounts, const char *path,
		      struct share_place *place)
{
	struct mount_row row;
	bool found = false;

	while (!found && next_row(mounts, &row)) {
		found = share_path_within(row.point, path);
		if (found)
			set_place(place, &row, row.point);
		row_release(&row);
	}
	return found;
}

bool share_place_same(const struct share_place *a, const struct share_place *b)
{
	return share_place_within(a, b) && share_place_within(b, a);
}

bool share_place_within(const struct share_place *inner,
			const struct share_place *outer)
{
	return inner->path && outer->path && inner->major == outer->major &&
	       inner->minor == outer->minor &&
	       share_path_within(inner->path, outer->path);
}
