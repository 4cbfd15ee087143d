/* SPDX-License-Identifier: Apache-2.0 */
/*
 * twins.c - where a file of several names lies now
 */
#include "undo/twins.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "undo/place.h"
#include "undo/replay_file.h"
#include "undo/replay_internal.h"

#define SLOTS_FIRST 64
#define DEPTH_MAX 256
#define SEARCHES_MAX 16

struct twin {
	struct journal_file was, now; /* was.ino 0: free */
	int root;                     /* borrowed; -1: not known */
	char *path;                   /* owned; "" then */
};

static struct twin *find(const struct twins *twins,
			 const struct journal_file *was)
{
	uint64_t hash = (was->ino ^ was->btime_ns << 7 ^ was->dev << 23) *
			0x9e3779b97f4a7c15ULL;
	size_t at = (hash >> 32) & (twins->size - 1);

	while (twins->slots[at].was.ino &&
	       !place_same_inode(&twins->slots[at].was, was))
		at = (at + 1) & (twins->size - 1);
	return &twins->slots[at];
}

static struct twin *known(const struct twins *twins,
			  const struct journal_file *was)
{
	struct twin *twin = twins->size && was->ino ? find(twins, was) : NULL;

	return twin && twin->was.ino ? twin : NULL;
}

static void grow(struct twins *twins)
{
	struct twins old = *twins;

	twins->size = old.size ? old.size * 2 : SLOTS_FIRST;
	twins->slots = xcalloc(twins->size, sizeof(*twins->slots));
	for (size_t i = 0; i < old.size; i++) {
		if (old.slots[i].was.ino)
			*find(twins, &old.slots[i].was) = old.slots[i];
	}
	free(old.slots);
}

void twins_begin(struct twins *twins)
{
	inode_map_release(&twins->wanted);
	twins->searched = twins->located = 0;
	twins->searches = 0;
}

void twins_put(struct twins *twins, const struct journal_file *was, int root,
	       const char *path, const struct journal_file *now)
{
	struct twin *twin;
	char *copy;

	if (!was->ino)
		return;
	if (twins->count >= twins->size / 4 * 3)
		grow(twins);
	twin = find(twins, was);
	twins->count += !twin->was.ino;
	copy = xstrdup(path);
	free(twin->path);
	*twin = (struct twin){
		.was = *was, .now = *now, .root = root, .path = copy
	};
}

void twins_recall(struct twins *twins, const struct journal_file *was,
		  const struct journal_file *now)
{
	twins_put(twins, was, -1, "", now);
}

static bool has_names(uint32_t mode)
{
	return S_ISREG(mode) || S_ISLNK(mode);
}

struct search {
	struct twins *twins;
	int root;
	char path[JOURNAL_PATH_MAX];
};

/* A file in a folder; the search's path is that of the file. */
static void look_at(struct search *search, int folder, const char *name)
{
	struct journal_file file;
	struct statx st;

	if (statx(folder, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT,
		  STATX_BASIC_STATS | STATX_BTIME, &st) < 0 ||
	    !has_names(st.stx_mode))
		return;
	place_file(&st, &file);
	if (inode_map_get(&search->twins->wanted, &file))
		twins_put(search->twins, &file, search->root, search->path,
			  &file);
}

/* len: of the folder's path with the slash behind it. */
static void search_folder(struct search *search, int parent, const char *name,
			  size_t len, int depth)
{
	AUTO_CLOSE int fd = openat(
		parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!folder)
		return;
	(void)TAKE_FD(fd);
	while ((entry = readdir(folder))) {
		size_t end = len + strlen(entry->d_name);

		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0 ||
		    end + 2 > sizeof(search->path))
			continue;
		text_copy(search->path + len, sizeof(search->path) - len,
			  entry->d_name);
		if (entry->d_type != DT_DIR)
			look_at(search, dirfd(folder), entry->d_name);
		if (entry->d_type != DT_DIR && entry->d_type != DT_UNKNOWN)
			continue;
		text_copy(search->path + end, 2, "/");
		if (depth < DEPTH_MAX)
			search_folder(search, dirfd(folder), entry->d_name,
				      end + 1, depth + 1);
	}
	closedir(folder);
}

static void search_share(struct twins *twins, int root)
{
	struct search *search = xcalloc(1, sizeof(*search));

	search->twins = twins;
	search->root = root;
	search_folder(search, root, ".", 0, 0);
	free(search);
}

/* All that a segment may ask for, in one go. */
static void search_once(struct twins *twins, const struct scan *scan,
			uint8_t share)
{
	struct journal_record record;

	if (share >= JOURNAL_SHARES_MAX || (twins->searched >> share & 1))
		return;
	twins->searched |= 1ULL << share;
	for (size_t i = 0; i < scan->count; i++) {
		if (journal_at(&scan->reader, scan->steps[i], &record) > 0 &&
		    (record.flags & JOURNAL_LINKED))
			inode_map_put(&twins->wanted, &record.file);
	}
	search_share(twins, scan->roots[share]);
}

static bool is_there(const struct twin *twin, uint32_t mode)
{
	struct journal_file now;

	return twin->root >= 0 &&
	       file_stat(twin->root, twin->path, &now) == 0 &&
	       place_same_inode(&now, &twin->now) &&
	       (now.mode & S_IFMT) == (mode & S_IFMT);
}

/* Of all that are not known yet, in one go. */
static void locate(struct twins *twins, int root, uint8_t share,
		   const struct journal_file *was)
{
	struct journal_file now = known(twins, was)->now;
	const struct twin *found;

	if (!(twins->located >> share & 1)) {
		twins->located |= 1ULL << share;
		for (size_t i = 0; i < twins->size; i++) {
			if (twins->slots[i].was.ino && twins->slots[i].root < 0)
				inode_map_put(&twins->wanted,
					      &twins->slots[i].now);
		}
		search_share(twins, root);
	}
	found = known(twins, &now);
	if (found && found->root >= 0)
		twins_put(twins, was, root, found->path, &now);
}

/* It was moved since by another step, or its folder was. */
static bool find_again(struct twins *twins, const struct journal_file *was)
{
	struct journal_file now = known(twins, was)->now;
	int root = known(twins, was)->root;
	const struct twin *found;

	if (twins->searches == SEARCHES_MAX)
		return false;
	twins->searches++;
	inode_map_put(&twins->wanted, &now);
	search_share(twins, root);
	found = known(twins, &now);
	if (!found || !is_there(found, was->mode))
		return false;
	if (!place_same_inode(&now, was))
		twins_put(twins, was, root, found->path, &now);
	return true;
}

int twins_link(struct twins *twins, const struct scan *scan,
	       const struct journal_record *record, int folder,
	       const char *name)
{
	const struct journal_file *was = &record->file;
	AUTO_CLOSE int other = -1;
	const struct twin *twin;
	const char *other_name;

	if (!known(twins, was) && (record->flags & JOURNAL_LINKED))
		search_once(twins, scan, record->share);
	twin = known(twins, was);
	if (twin && twin->root < 0 && record->share < JOURNAL_SHARES_MAX) {
		locate(twins, scan->roots[record->share], record->share, was);
		twin = known(twins, was);
	}
	if (!twin || twin->root < 0 ||
	    (!is_there(twin, was->mode) && !find_again(twins, was)))
		return -1;
	twin = known(twins, was);
	other = file_parent(twin->root, twin->path, &other_name);
	return other < 0 ? -1 : linkat(other, other_name, folder, name, 0);
}

void twins_release(struct twins *twins)
{
	for (size_t i = 0; i < twins->size; i++)
		free(twins->slots[i].path);
	free(twins->slots);
	inode_map_release(&twins->wanted);
	*twins = (struct twins){ 0 };
}
