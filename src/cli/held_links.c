/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_links.c - what the host's own links make of a guarded name
 *
 * Looked at are the share's root, folders there whose names begin with a dot,
 * two levels of them, and of a git folder those that hold hooks. That is where
 * tools keep what they run, and it is little enough to read at each start.
 */
#include "cli/held_links.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/guard_root.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/hide_source.h"
#include "state/guard_file.h"
#include "state/share_list.h"

#define ENTRIES_MAX 20000 /* looked at in all */
#define DEPTH_MAX 8

AUTO_DEFINE(dir, DIR *, closedir)

struct walk {
	const struct share_list *shares;
	json_t *held;
	json_t *frozen; /* or NULL */
	struct guard_list list;
	size_t count; /* patterns added */
	size_t entries;
	bool folds_case;
};

static void hold(const char *rest, const char *ending, json_t *held,
		 size_t *count)
{
	AUTO_FREE char *escaped = hide_source_escape(rest);
	AUTO_FREE char *pattern = xasprintf("%s%s", escaped, ending);

	if (*count == HELD_LINKS_MAX ||
	    strlen(pattern) > GUARD_FILE_PATTERN_BYTES_MAX)
		return;
	/* First: your own lines may say otherwise. */
	if (json_array_insert_new(held, 0, json_string(pattern)) == 0)
		++*count;
}

void held_links_hold(const struct share_list *shares, const char *path,
		     json_t *held, size_t *count)
{
	for (size_t i = 0; i < shares->count; i++) {
		const char *host = shares->items[i].host;

		if (!share_path_within(path, host) || !strcmp(path, host))
			continue;
		hold(path + strlen(host), "", held, count);
		hold(path + strlen(host), "/**", held, count);
	}
}

/* What a folder in a held place may have in it that counts. */
static bool is_worth(const char *folder, const char *name, int depth)
{
	static const char *const git[] = { "hooks", "info", "modules",
					   "worktrees" };
	const char *dot = strstr(folder, "/.git");

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return false;
	if (!dot || (dot[5] && dot[5] != '/'))
		return depth < 3 && (*name == '.' || depth > 0);
	if (strstr(dot, "/hooks") || strstr(dot, "/modules"))
		return depth < DEPTH_MAX && strcmp(name, "objects") &&
		       strcmp(name, "refs") && strcmp(name, "logs");
	for (size_t i = 0; i < ARRAY_SIZE(git); i++) {
		if (!strcmp(name, git[i]))
			return true;
	}
	return false;
}

static bool is_held(const struct walk *walk, const struct guard_state *state,
		    const char *name, mode_t type)
{
	const struct guard_entry entry = { .name = name,
					   .type = type,
					   .folds_case = walk->folds_case };

	return guard_classify(&walk->list, state, &entry) == GUARD_HELD;
}

static void take_link(struct walk *walk, const char *path)
{
	AUTO_FREE char *real = realpath(path, NULL);

	if (real)
		held_links_hold(walk->shares, real, walk->held, &walk->count);
}

static void take_file(struct walk *walk, const char *path)
{
	struct stat st;

	if (!walk->frozen || json_array_size(walk->frozen) == HELD_FROZEN_MAX ||
	    lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink < 2)
		return;
	json_array_append_new(
		walk->frozen,
		json_pack("[I, I, I]", (json_int_t)major(st.st_dev),
			  (json_int_t)minor(st.st_dev), (json_int_t)st.st_ino));
}

static void look(struct walk *walk, const struct guard_state *state,
		 const char *folder, int depth)
{
	AUTO(dir) DIR *dir = opendir(folder);
	const struct dirent *entry;

	while (dir && walk->entries < ENTRIES_MAX && (entry = readdir(dir))) {
		AUTO_FREE char *path =
			xasprintf("%s/%s", folder, entry->d_name);

		walk->entries++;
		if (entry->d_type == DT_LNK &&
		    is_held(walk, state, entry->d_name, S_IFLNK))
			take_link(walk, path);
		if (entry->d_type == DT_REG &&
		    is_held(walk, state, entry->d_name, S_IFREG))
			take_file(walk, path);
		if (entry->d_type == DT_DIR &&
		    is_worth(folder, entry->d_name, depth)) {
			AUTO_FREE struct guard_state *inner =
				xmalloc(sizeof(*inner));

			*inner = *state;
			guard_enter(&walk->list, entry->d_name, inner);
			look(walk, inner, path, depth + 1);
		}
	}
}

static void look_into_share(struct walk *walk, const char *host)
{
	AUTO_FREE struct guard_state *state = xcalloc(1, sizeof(*state));
	AUTO_CLOSE int root =
		open(host, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (root < 0)
		return; /* a single file */
	walk->folds_case = guard_root_folds_case(root);
	guard_root_enter(&walk->list, root, host, state);
	look(walk, state, host, 0);
}

void held_links_add(const struct share_list *shares, json_t *held,
		    json_t *frozen)
{
	struct walk walk = { .shares = shares, .held = held, .frozen = frozen };
	json_t *line;
	size_t i;

	json_array_foreach(held, i, line)
	{
		guard_list_add(&walk.list, GUARD_HELD, json_string_value(line));
	}
	for (i = 0; i < shares->count; i++)
		look_into_share(&walk, shares->items[i].host);
	guard_list_release(&walk.list);
}
