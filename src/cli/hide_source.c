/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hide_source.c - the files that say what a guest must not see
 *
 * A denied path becomes a pattern from the host's root. Its components are
 * then matched with those of the share's path, as an automaton with one bit for
 * each component; every state that is left over gives the rest of the pattern,
 * which is what must be hidden in the share.
 */
#include "cli/hide_source.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/hide_pattern.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define DENIED_MAX 1024
#define PARTS_MAX 60

AUTO_DEFINE(json, json_t *, json_decref)

static bool is_pattern(const char *line)
{
	struct hide_list list = { 0 };
	bool good = hide_list_add(&list, line) == 0;

	hide_list_release(&list);
	return good;
}

static int take_line(const char *line, size_t len, json_t *patterns)
{
	AUTO_FREE char *text = NULL;

	if (len && line[len - 1] == '\r')
		len--;
	if (!len || *line == '#')
		return 0;
	if (memchr(line, '\0', len) || len > HIDE_PATTERN_BYTES_MAX ||
	    json_array_size(patterns) == HIDE_PATTERNS_MAX)
		return -1;
	text = xstrndup(line, len);
	if (!is_pattern(text))
		return -1;
	return json_array_append_new(patterns, json_string(text));
}

json_t *hide_source_lines(const char *text, size_t len, struct error *err)
{
	AUTO(json) json_t *patterns = json_array();
	const char *end = text + len;

	for (unsigned number = 1; text < end; number++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));

		if (!stop)
			stop = end;
		if (take_line(text, (size_t)(stop - text), patterns) < 0) {
			error_set(err, 0,
				  "line %u: too long, too deep, one too many "
				  "or not UTF-8",
				  number);
			return NULL;
		}
		text = stop + (stop < end);
	}
	return TAKE_PTR(patterns);
}

/* What stands between "Read(" and the ")" at the end. */
static json_t *inside_read(const char *rule)
{
	static const char begin[] = "Read(";
	size_t len = strlen(rule), skip = sizeof(begin) - 1;

	if (len <= skip + 1 || strncmp(rule, begin, skip) ||
	    rule[len - 1] != ')')
		return NULL;
	return json_stringn(rule + skip, len - skip - 1);
}

json_t *hide_source_denied(const char *text, size_t len, struct error *err)
{
	AUTO(json) json_t *root = json_loadb(text, len, 0, NULL);
	const json_t *permissions = json_object_get(root, "permissions");
	json_t *deny = json_object_get(permissions, "deny"), *denied, *rule;
	size_t i;

	if (!json_is_object(root)) {
		error_set(err, 0, "not a JSON object");
		return NULL;
	}
	if ((permissions && !json_is_object(permissions)) ||
	    (deny && !json_is_array(deny)) ||
	    json_array_size(deny) > DENIED_MAX) {
		error_set(err, 0,
			  "permissions.deny is not a list of at most %d rules",
			  DENIED_MAX);
		return NULL;
	}
	denied = json_array();
	json_array_foreach(deny, i, rule)
	{
		json_t *path = json_is_string(rule)
				       ? inside_read(json_string_value(rule))
				       : NULL;

		if (path)
			json_array_append_new(denied, path);
	}
	return denied;
}

char *hide_source_escape(const char *path)
{
	char *out = xmalloc(2 * strlen(path) + 1), *at = out;

	for (; *path; path++) {
		if (strchr("*?[\\", *path))
			*at++ = '\\';
		*at++ = *path;
	}
	*at = '\0';
	return out;
}

/* The denied path as a pattern from the host's root; malloc'd. */
static char *whole_pattern(const char *denied, const char *project,
			   const char *home)
{
	const char *base = project;
	AUTO_FREE char *escaped = NULL;

	if (text_starts(denied, "//"))
		return xstrdup(denied + 1);
	if (text_starts(denied, "~/")) {
		base = home;
		denied += 2;
	} else if (text_starts(denied, "./")) {
		denied += 2;
	} else if (*denied != '/' && !strchr(denied, '/')) {
		/* a bare name, at any depth */
		escaped = hide_source_escape(base);
		return xasprintf("%s/**/%s", escaped, denied);
	}
	escaped = hide_source_escape(base);
	return xasprintf("%s/%s", escaped, denied);
}

struct parts {
	char *texts[PARTS_MAX]; /* into one malloc'd text */
	size_t count;
};

static int split(char *text, struct parts *parts)
{
	char *save = NULL;

	parts->count = 0;
	for (char *part = strtok_r(text, "/", &save); part;
	     part = strtok_r(NULL, "/", &save)) {
		if (!strcmp(part, "."))
			continue;
		if (parts->count == PARTS_MAX)
			return -1;
		parts->texts[parts->count++] = part;
	}
	return 0;
}

static bool is_any(const char *part)
{
	return !strcmp(part, "**");
}

static bool part_matches(const char *pattern, const char *name)
{
	AUTO_FREE char *bound = xasprintf("/%s", pattern);
	struct hide_list list = { 0 };
	bool result = hide_list_add(&list, bound) == 0 &&
		      hide_list_matches(&list, name, HIDE_FOLDER);

	hide_list_release(&list);
	return result;
}

/* ** may stand for nothing. */
static uint64_t skip_any(const struct parts *pattern, uint64_t state)
{
	for (size_t n = 0; n < pattern->count; n++)
		if ((state >> n & 1) && is_any(pattern->texts[n]))
			state |= UINT64_C(1) << (n + 1);
	return state;
}

static uint64_t step(const struct parts *pattern, uint64_t state,
		     const char *name)
{
	uint64_t after = 0;

	for (size_t n = 0; n < pattern->count; n++) {
		if (!(state >> n & 1))
			continue;
		if (is_any(pattern->texts[n]))
			after |= UINT64_C(1) << n;
		else if (part_matches(pattern->texts[n], name))
			after |= UINT64_C(1) << (n + 1);
	}
	return skip_any(pattern, after);
}

static int append_rest(const struct parts *pattern, size_t from, bool folders,
		       json_t *patterns)
{
	/* all used up: the share itself is meant, so all that is in it */
	AUTO_FREE char *rest = xstrdup(from == pattern->count ? "/**" : "");

	for (size_t n = from; n < pattern->count; n++) {
		char *longer = xasprintf("%s/%s", rest, pattern->texts[n]);

		free(rest);
		rest = longer;
	}
	if (folders && from < pattern->count) {
		char *longer = xasprintf("%s/", rest);

		free(rest);
		rest = longer;
	}
	if (!is_pattern(rest))
		return -1;
	return json_array_append_new(patterns, json_string(rest));
}

int hide_source_place(const char *denied, const char *share,
		      const char *project, const char *home, json_t *patterns)
{
	AUTO_FREE char *whole = whole_pattern(denied, project, home);
	AUTO_FREE char *place = xstrdup(share);
	bool folders = text_ends(denied, "/");
	struct parts pattern, path;
	uint64_t state;

	if (split(whole, &pattern) < 0 || split(place, &path) < 0)
		return -1;
	state = skip_any(&pattern, 1);
	for (size_t i = 0; i < path.count && state; i++)
		state = step(&pattern, state, path.texts[i]);
	for (size_t n = 0; n <= pattern.count; n++) {
		if (!(state >> n & 1))
			continue;
		/* a ** before it, which may stand for nothing, covers it */
		if (n && (state >> (n - 1) & 1) && is_any(pattern.texts[n - 1]))
			continue;
		if (append_rest(&pattern, n, folders, patterns) < 0)
			return -1;
	}
	return 0;
}
