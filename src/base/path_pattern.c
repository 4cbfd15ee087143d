/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_pattern.c - one pattern of a path, matched component by component
 *
 * The match is a walk over (component of the pattern, component of the path),
 * one bit for each place in the pattern, and so takes at most their product;
 * inside a component the classic two-pointer wildcard match is at most
 * quadratic in 255 bytes.
 */
#include "base/path_pattern.h"

#include <string.h>

#include "base/mem.h"

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
static uint64_t skip_any(const struct path_pattern *pattern, uint64_t state)
{
	for (size_t n = 0; n < pattern->part_count; n++) {
		/* A trailing ** needs at least one component. */
		if ((state >> n & 1) && is_any(pattern->parts[n]) &&
		    n + 1 < pattern->part_count)
			state |= UINT64_C(1) << (n + 1);
	}
	return state;
}

uint64_t path_pattern_step(const struct path_pattern *pattern, uint64_t state,
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

uint64_t path_pattern_walk(const struct path_pattern *pattern, const char *path,
			   size_t len)
{
	uint64_t state = path_pattern_start(pattern);
	const char *end = path + len;

	while (path < end && state) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		size_t part = (size_t)((slash ? slash : end) - path);

		state = path_pattern_step(pattern, state, path, part);
		path += part + (slash ? 1 : 0);
	}
	return state;
}

uint64_t path_pattern_start(const struct path_pattern *pattern)
{
	return skip_any(pattern, 1);
}

bool path_pattern_is_complete(const struct path_pattern *pattern,
			      uint64_t state)
{
	return state >> pattern->part_count & 1;
}

/*
 * State 0 and a leading ** stay true wherever a folder goes; so does "all used
 * up".
 */
bool path_pattern_is_inside(const struct path_pattern *pattern, uint64_t state)
{
	state &= ~(UINT64_C(1) << pattern->part_count);
	state &= ~UINT64_C(1);
	if (is_any(pattern->parts[0]))
		state &= ~UINT64_C(2);
	return state != 0;
}

/* Cuts text into parts in place; -1 when there are too many. */
static int split(struct path_pattern *pattern, char *text)
{
	while (text) {
		char *slash = strchr(text, '/');

		if (slash)
			*slash++ = '\0';
		if (*text) {
			if (pattern->part_count == PATH_PATTERN_PARTS_MAX - 1)
				return -1;
			pattern->parts[pattern->part_count++] = text;
		}
		text = slash;
	}
	return 0;
}

int path_pattern_parse(struct path_pattern *pattern, const char *text,
		       size_t len, bool anywhere)
{
	*pattern = (struct path_pattern){ .text = xstrndup(text, len) };
	if (anywhere)
		pattern->parts[pattern->part_count++] = "**";
	if (split(pattern, pattern->text) < 0) {
		path_pattern_release(pattern);
		return -1;
	}
	/* "/" or "" alone name nothing. */
	if (pattern->part_count == (anywhere ? 1U : 0U)) {
		path_pattern_release(pattern);
		return 0;
	}
	return 1;
}

void path_pattern_release(struct path_pattern *pattern)
{
	free(pattern->text);
	pattern->text = NULL;
}
