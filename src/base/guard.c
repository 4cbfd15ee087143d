/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard.c - which files a guest must not plant for the host
 */
#include "base/guard.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/path_pattern.h"

struct guard_pattern {
	struct path_pattern path;
	char *exact;            /* owned; last component, or NULL */
	enum guard_class class; /* GUARD_FREE: an exception */
	uint64_t start;         /* before anything of it matched */
	char first;             /* small; what a match begins with, or NUL */
	bool rooted;
};

static char small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Most patterns are not begun yet and begin otherwise. */
static bool stays(const struct guard_pattern *pattern, uint64_t state,
		  const char *name)
{
	return state == pattern->start && pattern->first &&
	       small(*name) != pattern->first;
}

static uint64_t step(const struct guard_pattern *pattern, uint64_t state,
		     const char *name, size_t len)
{
	if (stays(pattern, state, name))
		return state;
	return path_pattern_step(&pattern->path, state, name, len);
}

static void prepare(struct guard_pattern *pattern)
{
	char first = pattern->rooted ? '\0' : *pattern->path.parts[1];

	pattern->start = path_pattern_start(&pattern->path);
	if (!strchr("*?[\\", first))
		pattern->first = small(first);
}

int guard_list_add(struct guard_list *list, enum guard_class class,
		   const char *text)
{
	struct guard_pattern pattern = { .class = class };
	size_t len;
	int parsed;

	if (class == GUARD_HELD && *text == '!') {
		pattern.class = GUARD_FREE;
		text++;
	}
	if (*text == '=') {
		const char *slash = strrchr(++text, '/');

		pattern.exact = xstrdup(slash ? slash + 1 : text);
	}
	len = strlen(text);
	pattern.rooted = *text == '/';
	parsed = len > GUARD_PATTERN_BYTES_MAX ||
				 list->count == GUARD_PATTERNS_MAX
			 ? -1
			 : path_pattern_parse(&pattern.path, text, len,
					      !pattern.rooted);
	if (parsed <= 0) {
		free(pattern.exact);
		return parsed;
	}
	prepare(&pattern);
	list->patterns =
		xrealloc(list->patterns, (list->count + 1) * sizeof(pattern));
	list->patterns[list->count++] = pattern;
	return 0;
}

void guard_list_release(struct guard_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		path_pattern_release(&list->patterns[i].path);
		free(list->patterns[i].exact);
	}
	free(list->patterns);
	*list = (struct guard_list){ 0 };
}

/* Some file systems drop these: "config." would be "config" there. */
static size_t plain_len(const char *name, size_t len)
{
	while (len > 1 && (name[len - 1] == '.' || name[len - 1] == ' '))
		len--;
	return len;
}

static void enter(const struct guard_list *list, const char *name, size_t len,
		  struct guard_state *state)
{
	len = plain_len(name, len);
	for (size_t i = 0; i < list->count; i++) {
		if (state->at[i])
			state->at[i] = step(&list->patterns[i], state->at[i],
					    name, len);
	}
}

void guard_enter(const struct guard_list *list, const char *name,
		 struct guard_state *state)
{
	enter(list, name, strlen(name), state);
}

void guard_enter_path(const struct guard_list *list, const char *path,
		      struct guard_state *state)
{
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len)
			enter(list, path, len, state);
		path += len + (path[len] == '/');
	}
}

/*
 * From the last .git on, else the last component: folders above a workspace may
 * be called like a tool's, and all beneath would be held.
 */
static const char *meaningful_part(const char *path)
{
	const char *last = path, *repository = NULL;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len)
			last = path;
		if (len == 4 && strncasecmp(path, ".git", len) == 0)
			repository = path;
		path += len + (path[len] == '/');
	}
	return repository ? repository : last;
}

void guard_enter_share(const struct guard_list *list, const char *host_path,
		       struct guard_state *state)
{
	for (size_t i = 0; i < list->count; i++)
		state->at[i] = list->patterns[i].start;
	guard_enter_path(list, meaningful_part(host_path), state);
	for (size_t i = 0; i < list->count; i++) {
		if (list->patterns[i].rooted)
			state->at[i] = list->patterns[i].start;
	}
}

void guard_join(const struct guard_list *list, const struct guard_state *other,
		struct guard_state *state)
{
	for (size_t i = 0; i < list->count; i++) {
		if (list->patterns[i].class == GUARD_HELD)
			state->at[i] |= other->at[i];
	}
}

static bool is_exact(const struct guard_pattern *pattern,
		     const struct guard_entry *entry)
{
	return !pattern->exact || entry->folds_case ||
	       strcmp(pattern->exact, entry->name) == 0;
}

enum guard_class guard_classify(const struct guard_list *list,
				const struct guard_state *folder,
				const struct guard_entry *entry)
{
	enum guard_class class = GUARD_FREE;
	bool shown = false, inside = false;
	size_t len = plain_len(entry->name, strlen(entry->name));

	if (entry->type == S_IFDIR)
		return GUARD_FREE;
	for (size_t i = 0; i < list->count; i++) {
		const struct guard_pattern *pattern = &list->patterns[i];
		uint64_t state = folder->at[i];

		/* One that is not begun is neither inside nor complete. */
		if (!state || stays(pattern, state, entry->name))
			continue;
		state = step(pattern, state, entry->name, len);
		inside |= pattern->class == GUARD_HELD &&
			  path_pattern_is_inside(&pattern->path, state);
		if (!path_pattern_is_complete(&pattern->path, state) ||
		    !is_exact(pattern, entry))
			continue;
		if (pattern->class == GUARD_SHOWN)
			shown = true;
		else
			class = pattern->class;
	}
	if (class == GUARD_HELD || (inside && entry->type == S_IFLNK))
		return GUARD_HELD;
	return shown ? GUARD_SHOWN : GUARD_FREE;
}

bool guard_holds_all(const struct guard_list *list,
		     const struct guard_state *folder)
{
	/* No pattern has such a name: only wildcards match it. */
	const struct guard_entry any = { .name = "\1\1", .type = S_IFREG };

	return guard_classify(list, folder, &any) == GUARD_HELD;
}

bool guard_is_bound(const struct guard_list *list,
		    const struct guard_state *folder, const char *name)
{
	size_t len = plain_len(name, strlen(name));

	for (size_t i = 0; i < list->count; i++) {
		const struct guard_pattern *pattern = &list->patterns[i];
		uint64_t state = folder->at[i];

		if (pattern->class == GUARD_SHOWN || !state)
			continue;
		state = step(pattern, state, name, len);
		if (path_pattern_is_inside(&pattern->path, state))
			return true;
	}
	return false;
}
