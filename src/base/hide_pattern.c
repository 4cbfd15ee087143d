/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hide_pattern.c - which paths of a share are absent in the guest
 */
#include "base/hide_pattern.h"

#include <string.h>

#include "base/mem.h"
#include "base/path_pattern.h"

struct hide_pattern {
	struct path_pattern path;
	bool folders_only;
	bool shows; /* began with '!' */
};

static bool matches_all(const struct hide_pattern *pattern, const char *path,
			size_t len)
{
	return path_pattern_is_complete(
		&pattern->path, path_pattern_walk(&pattern->path, path, len));
}

static bool path_hidden(const struct hide_list *list, const char *path,
			size_t len, enum hide_kind kind)
{
	for (size_t i = list->count; i-- > 0;) {
		const struct hide_pattern *pattern = &list->patterns[i];

		if (pattern->folders_only && kind != HIDE_FOLDER)
			continue;
		if (matches_all(pattern, path, len))
			return !pattern->shows;
	}
	return false;
}

bool hide_list_matches(const struct hide_list *list, const char *path,
		       enum hide_kind kind)
{
	const char *slash = path;

	if (!list->count)
		return false;
	/* A hidden folder hides all of it; nothing beneath shows again. */
	while ((slash = strchr(slash, '/'))) {
		if (path_hidden(list, path, (size_t)(slash - path),
				HIDE_FOLDER))
			return true;
		slash++;
	}
	return path_hidden(list, path, strlen(path), kind);
}

bool hide_list_holds(const struct hide_list *list, const char *path)
{
	size_t len = strlen(path);

	for (size_t i = 0; i < list->count; i++) {
		const struct path_pattern *pattern = &list->patterns[i].path;

		if (path_pattern_is_inside(
			    pattern, path_pattern_walk(pattern, path, len)))
			return true;
	}
	return false;
}

int hide_list_add(struct hide_list *list, const char *line)
{
	struct hide_pattern pattern = { 0 };
	size_t len = strlen(line);
	int parsed;

	if (len > HIDE_PATTERN_BYTES_MAX || list->count == HIDE_PATTERNS_MAX)
		return -1;
	while (len && (line[len - 1] == '\n' || line[len - 1] == '\r' ||
		       line[len - 1] == ' '))
		len--;
	if (!len || *line == '#')
		return 0;
	if (*line == '!') {
		pattern.shows = true;
		line++;
		len--;
	}
	if (len && line[len - 1] == '/') {
		pattern.folders_only = true;
		len--;
	}
	parsed = path_pattern_parse(&pattern.path, line, len,
				    !memchr(line, '/', len));
	if (parsed <= 0)
		return parsed;
	list->patterns =
		xrealloc(list->patterns, (list->count + 1) * sizeof(pattern));
	list->patterns[list->count++] = pattern;
	return 0;
}

void hide_list_release(struct hide_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		path_pattern_release(&list->patterns[i].path);
	free(list->patterns);
	*list = (struct hide_list){ 0 };
}
