/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden_links.c - which files are hidden, whatever else they are called
 *
 * Folders are read level by level; only what is hidden is looked at closer, so
 * that a large project costs some milliseconds. git's objects are left out:
 * there are many, and nobody hides one by its name. A file with one name counts
 * as well, it may get another while the sandbox runs, but not so many of them
 * that one with two is left out.
 */
#include "cli/hidden_links.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fileio.h"
#include "base/hide_pattern.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define FOLDERS_MAX 4096 /* that wait to be read */

AUTO_DEFINE(dir, DIR *, closedir)

struct walk {
	const json_t *shares, *absent;
	const char *root;
	struct hide_list hide;
	json_t *files;
	char *folders[FOLDERS_MAX]; /* owned; beneath root; a queue */
	size_t first, count;        /* of those that wait */
	size_t entries;
};

static void wait_for(struct walk *walk, const char *folder)
{
	if (walk->count == FOLDERS_MAX)
		return;
	walk->folders[(walk->first + walk->count++) % FOLDERS_MAX] =
		xstrdup(folder);
}

static char *take_folder(struct walk *walk)
{
	char *folder = walk->folders[walk->first];

	walk->first = (walk->first + 1) % FOLDERS_MAX;
	walk->count--;
	return folder;
}

static void add_file(struct walk *walk, int folder, const char *name)
{
	size_t most = HIDDEN_LINKS_MAX;
	json_int_t made_ns = 0;
	struct statx st;

	if (statx(folder, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_BTIME, &st) < 0 ||
	    !S_ISREG(st.stx_mode))
		return;
	if (st.stx_nlink < 2)
		most /= 2;
	if (json_array_size(walk->files) >= most)
		return;
	if (st.stx_mask & STATX_BTIME)
		made_ns = (json_int_t)st.stx_btime.tv_sec * 1000000000 +
			  st.stx_btime.tv_nsec;
	json_array_append_new(walk->files,
			      json_pack("[I, I, I, I]",
					(json_int_t)st.stx_dev_major,
					(json_int_t)st.stx_dev_minor,
					(json_int_t)st.stx_ino, made_ns));
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static bool are_objects(const char *path)
{
	size_t len = strlen(path);

	return !strcmp(path, ".git/objects") ||
	       (len > 13 && !strcmp(path + len - 13, "/.git/objects"));
}

static bool is_other(const struct walk *walk, const char *path)
{
	json_t *other;
	size_t i;

	json_array_foreach(walk->shares, i, other)
	{
		if (!strcmp(json_string_value(json_object_get(other, "path")),
			    path))
			return true;
	}
	json_array_foreach(walk->absent, i, other)
	{
		if (!strcmp(json_string_value(other), path))
			return true;
	}
	return false;
}

static void look_at(struct walk *walk, int fd, const char *folder,
		    const struct dirent *entry)
{
	AUTO_FREE char *path =
		xasprintf("%s%s%s", folder, *folder ? "/" : "", entry->d_name);

	if (entry->d_type == DT_DIR && !are_objects(path))
		wait_for(walk, path);
	/* a file system that does not tell the type costs a look more */
	if ((entry->d_type == DT_REG || entry->d_type == DT_UNKNOWN) &&
	    hide_list_matches(&walk->hide, path, HIDE_FILE))
		add_file(walk, fd, entry->d_name);
}

static void read_folder(struct walk *walk, const char *folder)
{
	AUTO_FREE char *path =
		xasprintf("%s%s%s", walk->root, *folder ? "/" : "", folder);
	/* a guest may be at work: no link is followed */
	int fd = *folder && is_other(walk, path)
			 ? -1
			 : fileio_open_real(path, O_RDONLY | O_DIRECTORY |
							  O_NONBLOCK);
	AUTO(dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (fd >= 0 && !dir)
		close(fd);
	while (dir && walk->entries < HIDDEN_LINKS_ENTRIES_MAX &&
	       (entry = readdir(dir))) {
		walk->entries++;
		if (!is_dots(entry->d_name))
			look_at(walk, dirfd(dir), folder, entry);
	}
}

static void look_into(struct walk *walk, const json_t *share)
{
	json_t *pattern;
	size_t i;

	walk->root = json_string_value(json_object_get(share, "path"));
	json_array_foreach(json_object_get(share, "hide"), i, pattern)
	{
		hide_list_add(&walk->hide, json_string_value(pattern));
	}
	if (walk->hide.count)
		wait_for(walk, "");
	while (walk->count) {
		AUTO_FREE char *folder = take_folder(walk);

		if (walk->entries < HIDDEN_LINKS_ENTRIES_MAX)
			read_folder(walk, folder);
	}
	hide_list_release(&walk->hide);
	walk->hide = (struct hide_list){ 0 };
	walk->entries = 0;
}

json_t *hidden_links_of(const json_t *shares, const json_t *absent)
{
	AUTO_FREE struct walk *walk = xcalloc(1, sizeof(*walk));
	json_t *share;
	size_t i;

	walk->shares = shares;
	walk->absent = absent;
	walk->files = json_array();
	json_array_foreach(shares, i, share)
	{
		if (!json_is_true(json_object_get(share, "gone")))
			look_into(walk, share);
	}
	return walk->files;
}
