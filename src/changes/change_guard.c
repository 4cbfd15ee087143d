/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_guard.c - which changes are applied only when somebody names them
 */
#include "changes/change_guard.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "changes/change_list.h"
#include "changes/change_set.h"
#include "tree/tree_open.h"

struct marker {
	const struct change_guard *guard;
	struct change_list *list;
	const char *const *paths;
	/* The last folder that was asked for: most have many changes. */
	char *folder; /* owned; NULL: none yet */
	struct guard_state state;
};

static int by_path(const void *key, const void *element)
{
	return strcmp(key, ((const struct change *)element)->path);
}

/* The first of a path: it may be deleted and new. */
static const struct change *find(const struct change_list *list,
				 const char *path)
{
	const struct change *found = NULL;

	if (list->count)
		found = bsearch(path, list->changes, list->count,
				sizeof(*list->changes), by_path);
	while (found && found > list->changes && !strcmp(found[-1].path, path))
		found--;
	return found;
}

/* By its HEAD: that of the host or one that comes with the changes. */
static bool is_repository(const struct change_guard *guard,
			  const struct change_list *list, const char *folder)
{
	AUTO_FREE char *head =
		xasprintf("%s%sHEAD", folder, *folder ? "/" : "");
	const struct change *end = list->changes + list->count;
	AUTO_CLOSE int fd = -1;
	struct stat st;

	for (const struct change *change = find(list, head);
	     change && change < end && !strcmp(change->path, head); change++)
		if (change->entry && !S_ISDIR(change->entry->mode))
			return true;
	if (guard->folder < 0)
		return false;
	fd = tree_open(guard->folder, head, O_PATH | O_NOFOLLOW);
	return fd >= 0 && fstat(fd, &st) == 0 && !S_ISDIR(st.st_mode);
}

static void enter_one(const struct change_guard *guard,
		      const struct change_list *list, const char *folder,
		      struct guard_state *state)
{
	const char *slash = strrchr(folder, '/');

	if (*folder)
		guard_enter(guard->list, slash ? slash + 1 : folder, state);
	if (is_repository(guard, list, folder))
		guard_join(guard->list, &guard->git, state);
}

static void enter_all(const struct change_guard *guard,
		      const struct change_list *list, const char *folder,
		      struct guard_state *state)
{
	*state = guard->root;
	enter_one(guard, list, "", state);
	for (size_t len = 0; folder[len];) {
		AUTO_FREE char *part = NULL;

		len += strcspn(folder + len, "/");
		part = xstrndup(folder, len);
		enter_one(guard, list, part, state);
		len += folder[len] == '/';
	}
}

static void enter(struct marker *marker, const char *folder, size_t len)
{
	if (marker->folder && strlen(marker->folder) == len &&
	    !memcmp(marker->folder, folder, len))
		return;
	free(marker->folder);
	marker->folder = xstrndup(folder, len);
	enter_all(marker->guard, marker->list, marker->folder, &marker->state);
}

static bool is_held_as(struct marker *marker, const char *path, mode_t mode)
{
	const char *slash = strrchr(path, '/');
	struct guard_entry entry = { .name = slash ? slash + 1 : path,
				     .type = mode & S_IFMT,
				     .folds_case = marker->guard->folds_case };

	if (S_ISDIR(mode))
		return false;
	enter(marker, path, slash ? (size_t)(slash - path) : 0);
	return guard_classify(marker->guard->list, &marker->state, &entry) ==
	       GUARD_HELD;
}

/* By what comes or by what goes. */
static bool is_own(struct marker *marker, const struct change *change)
{
	if (change->entry &&
	    is_held_as(marker, change->path, change->entry->mode))
		return true;
	return change->kind != CHANGE_NEW &&
	       is_held_as(marker, change->path, change->host.st_mode);
}

/* Both changes of a path are own if one is. */
static const struct change *find_own(const struct change_list *list,
				     const char *path)
{
	const struct change *found = find(list, path);

	return found && found->own ? found : NULL;
}

static bool is_given(const struct marker *marker, const char *path)
{
	for (size_t i = 0; marker->paths[i]; i++)
		if (!strcmp(marker->paths[i], path))
			return true;
	return false;
}

static bool holds_all(const struct change_guard *guard,
		      const struct change_list *list, const char *folder)
{
	struct guard_state state;

	enter_all(guard, list, folder, &state);
	return guard_holds_all(guard->list, &state);
}

/* Cuts the last part off; the root is "". */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!*path)
		return false;
	*(slash ? slash : path) = '\0';
	return true;
}

static bool is_named(const struct marker *marker, const struct change *change)
{
	AUTO_FREE char *above = xstrdup(change->path);

	if (is_given(marker, above))
		return true;
	while (go_up(above)) {
		if (is_given(marker, above) &&
		    ((change->kind == CHANGE_DELETED &&
		      find_own(marker->list, above)) ||
		     holds_all(marker->guard, marker->list, above)))
			return true;
	}
	return false;
}

static void settle(const struct marker *marker, struct change *change)
{
	AUTO_FREE char *above = xstrdup(change->path);

	change->held = change->own;
	change->withheld = change->own && !is_named(marker, change);
	while (go_up(above)) {
		const struct change *own = find_own(marker->list, above);

		if (!own)
			continue;
		change->held = true;
		change->withheld |= !is_named(marker, own);
	}
}

void change_guard_mark(const struct change_guard *guard,
		       struct change_list *list, const char *const *paths)
{
	struct marker marker = { .guard = guard, .list = list, .paths = paths };
	bool any = false;

	for (size_t i = 0; i < list->count; i++) {
		struct change *change = &list->changes[i];
		struct change *before = i ? change - 1 : NULL;

		change->own = is_own(&marker, change);
		if (before && !strcmp(before->path, change->path))
			before->own = change->own |= before->own;
		any |= change->own;
	}
	free(marker.folder);
	for (size_t i = 0; any && i < list->count; i++)
		settle(&marker, &list->changes[i]);
}

bool change_guard_holds(const struct change_guard *guard,
			struct change_list *list, const char *path)
{
	struct marker marker = { .guard = guard, .list = list };
	bool held = is_held_as(&marker, path, S_IFREG);

	free(marker.folder);
	return held;
}

char *change_guard_name(const struct change_guard *guard,
			const struct change_list *list, const char *path)
{
	for (const char *at = path; (at = strchr(at, '/')); at++) {
		AUTO_FREE char *folder = xstrndup(path, (size_t)(at - path));

		if (holds_all(guard, list, folder))
			return TAKE_PTR(folder);
	}
	return xstrdup(path);
}
