/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_glob.c - the paths that a rule means
 */
#include "policy/path_glob.h"

#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/text.h"
#include "policy/fold.h"
#include "wire/url_path.h"

static bool is_segment(const char *text, size_t len, const char *want)
{
	return len == strlen(want) && memcmp(text, want, len) == 0;
}

/* NULL, or what is wrong with the text before it is decoded. */
static const char *text_fault(const char *text, size_t len)
{
	if (len > PATH_GLOB_MAX)
		return "the path is too long";
	if (memchr(text, '?', len) || memchr(text, '#', len))
		return "a rule's path has no query and no fragment";
	for (size_t i = 0; i + 2 < len; i++) {
		if (text[i] == '%' && fold_equal(text + i, "%2a", 3))
			return "an encoded star cannot be told from a wildcard";
	}
	return NULL;
}

static const char *segment_fault(const char *text, size_t len)
{
	if (len > 2 && memmem(text, len, "**", 2))
		return "`**` stands for whole segments";
	if (len > 2 && memchr(text, '*', len) != memrchr(text, '*', len))
		return "one `*` in a segment is all there can be";
	return NULL;
}

/* Also makes one `**` of several in a row. */
static const char *check_segments(char *path)
{
	char *at = path + 1, *to = path + 1;
	bool after_deep = false;

	for (int count = 1;; count++) {
		size_t len = strcspn(at, "/");
		bool last = at[len] == '\0', deep = is_segment(at, len, "**");
		const char *fault = segment_fault(at, len);

		if (fault)
			return fault;
		if (count > PATH_GLOB_SEGMENTS_MAX)
			return "the path has too many segments";
		if (deep && after_deep) {
			to--; /* with the slash before it */
		} else {
			memmove(to, at, len);
			to += len;
		}
		after_deep = deep;
		*to = last ? '\0' : '/';
		if (last)
			return NULL;
		to++;
		at += len + 1;
	}
}

int path_glob_parse(const char *text, size_t len, char **out, struct error *err)
{
	const char *fault = text_fault(text, len);
	char path[URL_PATH_MAX + 1], again[PATH_GLOB_TEXT_SIZE], shown[128];

	*out = NULL;
	text_printable(text, len, shown, sizeof(shown));
	if (!fault && url_path_normalise(text, len, path) < 0)
		fault = "not a path that all servers read alike (dot segments, "
			"encoded slashes, `;`, `\\`)";
	if (!fault)
		fault = check_segments(path);
	if (fault)
		return error_set(err, 0, "%s: %s", shown, fault);
	path_glob_format(path, again);
	if (strlen(again) > PATH_GLOB_MAX)
		return error_set(err, 0, "%s: the path is too long", shown);
	if (strcmp(path, "/**") != 0)
		*out = xstrdup(path);
	return 0;
}

void path_glob_format(const char *glob, char out[PATH_GLOB_TEXT_SIZE])
{
	for (; *glob; glob++) {
		unsigned char byte = (unsigned char)*glob;

		if (byte > ' ' && byte < 0x7f && !strchr("?#%", byte)) {
			*out++ = *glob;
			continue;
		}
		*out++ = '%';
		text_hex(&byte, 1, out);
		out += 2;
	}
	*out = '\0';
}
