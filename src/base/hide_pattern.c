/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hide_pattern.c - which paths of a share are absent in the guest
 *
 * A pattern is kept as its components, an unbound one with `**` in front. The
 * match is a table walk over (component of the pattern, component of the path)
 * and so takes at most their product; inside a component the classic
 * two-pointer wildcard match is at most quadratic in 255 bytes.
 */
#include "base/hide_pattern.h"

#include <stdint.h>
#include <string.h>

#include "base/mem.h"

#define PARTS_MAX 64

struct hide_pattern {
	char *text; /* owned; components, each ended by NUL */
	const char *parts[PARTS_MAX];
	size_t part_count;
	bool folders_only;
	bool shows; /* began with '!' */
};

static char fold(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_any(const char *part)
{
	return strcmp(part, "**") == 0;
}

/*
 * Matches c against the set after '['; *end is then behind the ']'. A set
 * without an end is not a set: NULL is stored and the '[' stands for itself.
 */
static bool match_set(const char *set, char c, const char **end)
{
	bool negated = *set == '!' || *set == '^', found = false;
	const char *p = set + negated;

	for (bool first = true; *p && (first || *p != ']'); first = false) {
		char low = fold(*p), high = low;

		if (p[0] == '\\' && p[1])
			low = high = fold(*++p);
		if (p[1] == '-' && p[2] && p[2] != ']') {
			high = fold(p[2]);
			p += 2;
		}
		if ((unsigned char)c >= (unsigned char)low &&
		    (unsigned char)c <= (unsigned char)high)
			found = true;
		p++;
	}
	*end = *p == ']' ? p + 1 : NULL;
	return found != negated;
}

/* One pattern character against c; *next is the pattern behind it. */
static bool match_one(const char *pattern, char c, const char **next)
{
	const char *end;
	bool in_set;

	*next = pattern + 1;
	if (*pattern == '?')
		return true;
	if (*pattern == '[') {
		in_set = match_set(pattern + 1, fold(c), &end);
		if (end) {
			*next = end;
			return in_set;
		}
	}
	if (*pattern == '\\' && pattern[1]) {
		pattern++;
		*next = pattern + 1;
	}
	return fold(*pattern) == fold(c);
}

static bool match_part(const char *pattern, const char *text, size_t len)
{
	const char *star = NULL, *next;
	size_t i = 0, retry = 0;

	while (i < len) {
		if (*pattern == '*') {
			star = ++pattern;
			retry = i;
			continue;
		}
		if (*pattern && match_one(pattern, text[i], &next)) {
			pattern = next;
			i++;
			continue;
		}
		if (!star)
			return false;
		pattern = star;
		i = ++retry;
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

/* After reading some components: bit n = the first n parts are used up. */
static uint64_t skip_any(const struct hide_pattern *pattern, uint64_t state)
{
	for (size_t n = 0; n < pattern->part_count; n++) {
		/* A trailing ** needs at least one component. */
		if ((state >> n & 1) && is_any(pattern->parts[n]) &&
		    n + 1 < pattern->part_count)
			state |= UINT64_C(1) << (n + 1);
	}
	return state;
}

static uint64_t step(const struct hide_pattern *pattern, uint64_t state,
		     const char *name, size_t len)
{
	uint64_t after = 0;

	for (size_t n = 0; n < pattern->part_count; n++) {
		if (!(state >> n & 1))
			continue;
		if (!is_any(pattern->parts[n])) {
			if (match_part(pattern->parts[n], name, len))
				after |= UINT64_C(1) << (n + 1);
			continue;
		}
		after |= UINT64_C(1) << n;
		if (n + 1 == pattern->part_count)
			after |= UINT64_C(1) << (n + 1);
	}
	return skip_any(pattern, after);
}

static uint64_t walk(const struct hide_pattern *pattern, const char *path,
		     size_t len)
{
	uint64_t state = skip_any(pattern, 1);
	const char *end = path + len;

	while (path < end && state) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t part = (size_t)((slash ? slash : end) - path);

		state = step(pattern, state, path, part);
		path += part + (slash ? 1 : 0);
	}
	return state;
}

static bool matches_all(const struct hide_pattern *pattern, const char *path,
			size_t len)
{
	return walk(pattern, path, len) >> pattern->part_count & 1;
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
		const struct hide_pattern *pattern = &list->patterns[i];
		uint64_t state = walk(pattern, path, len);

		/*
		 * State 0 and a leading ** stay true wherever the folder goes;
		 * so does "all used up".
		 */
		state &= ~(UINT64_C(1) << pattern->part_count);
		state &= ~UINT64_C(1);
		if (is_any(pattern->parts[0]))
			state &= ~UINT64_C(2);
		if (state)
			return true;
	}
	return false;
}

/* Cuts text into parts in place; -1 when there are too many. */
static int split(struct hide_pattern *pattern, char *text)
{
	while (text) {
		char *slash = strchr(text, '/');

		if (slash)
			*slash++ = '\0';
		if (*text) {
			if (pattern->part_count == PARTS_MAX - 1)
				return -1;
			pattern->parts[pattern->part_count++] = text;
		}
		text = slash;
	}
	return 0;
}

int hide_list_add(struct hide_list *list, const char *line)
{
	struct hide_pattern pattern = { 0 };
	size_t len = strlen(line);
	const char *slash;

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
	slash = memchr(line, '/', len);
	if (!slash)
		pattern.parts[pattern.part_count++] = "**";
	pattern.text = xstrndup(line, len);
	if (split(&pattern, pattern.text) < 0) {
		free(pattern.text);
		return -1;
	}
	/* "/" or "!" alone name nothing. */
	if (pattern.part_count == (slash ? 0U : 1U)) {
		free(pattern.text);
		return 0;
	}
	list->patterns =
		xrealloc(list->patterns, (list->count + 1) * sizeof(pattern));
	list->patterns[list->count++] = pattern;
	return 0;
}

void hide_list_release(struct hide_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->patterns[i].text);
	free(list->patterns);
	*list = (struct hide_list){ 0 };
}
