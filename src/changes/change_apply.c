/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_apply.c - a list of changes, written to the host's folder
 *
 * What is new or changed goes first, then deletions, from the inside out, then
 * what takes the place of something that was deleted. When there was no room
 * for one, it ends there, and nothing is deleted: that may be the same under
 * its new name. A folder that becomes read-only does so at the end. Each file
 * is written beside the old one and renamed. Files get the present time, or
 * tools that compare times would not notice them; those whose content stays
 * keep theirs.
 *
 * A file of the host that has several names is not changed in place: the guest
 * changed one of them, and the others are not what was shown.
 */
#include "changes/change_apply.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "changes/apply_hold.h"
#include "changes/apply_links.h"
#include "changes/apply_room.h"
#include "changes/attributes.h"
#include "changes/change_list.h"
#include "changes/change_set.h"
#include "tree/tree_open.h"
#include "tree/tree_write.h"

#define COPY_BYTES (256u * 1024)

static int delete_one(int root, const struct change *change, struct error *err)
{
	const char *name;
	AUTO_CLOSE int at = tree_open_parent(root, change->path, 0, &name, err);
	int flags = S_ISDIR(change->host.st_mode) ? AT_REMOVEDIR : 0;

	if (at < 0)
		return -1;
	if (unlinkat(at, name, flags) < 0 && errno != ENOENT)
		return tree_error(err, errno, change->path);
	return 0;
}

static int change_mode(int root, const struct change *change, struct error *err)
{
	AUTO_CLOSE int fd = tree_open(root, change->path, O_PATH | O_NOFOLLOW);
	char magic[TREE_MAGIC_MAX];
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return tree_error(err, errno, change->path);
	if ((st.st_mode & S_IFMT) != (change->entry->mode & S_IFMT))
		return tree_error(err, ESTALE, change->path);
	tree_magic(fd, magic);
	if (chmod(magic, change->entry->mode & 0777) < 0)
		return tree_error(err, errno, change->path);
	return 0;
}

/* Of a folder: a file is written anew, so that it never has a part of them. */
static int change_attributes(const struct apply_setup *setup,
			     const struct change *change, struct error *err)
{
	const char *name;
	AUTO_CLOSE int at =
		tree_open_parent(setup->root, change->path, 0, &name, err);
	AUTO_CLOSE int fd = -1;
	AUTO_ATTRIBUTES struct attributes now = { NULL, 0 };

	if (at < 0)
		return -1;
	fd = tree_open(at, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return tree_error(err, errno, change->path);
	attributes_read(&now, at, name);
	if (attributes_set(fd, &now, &change->entry->attributes) < 0) {
		if (errno != EOPNOTSUPP)
			return tree_error(err, errno, change->path);
		if (setup->unkept)
			(*setup->unkept)++;
	}
	return change_mode(setup->root, change, err);
}

static int copy_content(const struct apply_setup *setup,
			struct tree_writer *writer,
			const struct set_entry *entry, struct error *err)
{
	AUTO_FREE char *bytes = xmalloc(COPY_BYTES);
	uint64_t done = 0;

	while (done < entry->size) {
		uint64_t left = entry->size - done;
		ssize_t got =
			pread(setup->set->fd, bytes,
			      left < COPY_BYTES ? (size_t)left : COPY_BYTES,
			      (off_t)(entry->offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return error_set(err, got ? errno : EIO,
					 "set of changes");
		if (tree_writer_data(writer, bytes, (size_t)got, err) < 0)
			return -1;
		done += (uint64_t)got;
	}
	return 0;
}

struct applying {
	const struct apply_setup *setup;
	const struct change_list *list;
	struct tree_writer *writer;
	struct apply_links *links;
	bool full; /* there was no room for something */
	int total;
	struct error *err; /* the first one */
};

static bool keeps_content(const struct change *change)
{
	return change->kind == CHANGE_MODE || change->kind == CHANGE_ATTRIBUTES;
}

static int link_one(struct applying *all, const struct set_entry *from)
{
	const char *name = apply_links_find(all->links, from);
	struct tar_entry entry = { .path = from->path,
				   .mode = from->mode,
				   .target = name,
				   .hard_link = true };

	return name ? tree_writer_entry(all->writer, &entry, NULL) : -1;
}

static int write_one(struct applying *all, const struct change *change,
		     struct error *err)
{
	const struct set_entry *from = change->entry;
	struct tar_entry entry = { .path = from->path,
				   .mode = from->mode,
				   .target = from->target,
				   .size = from->size,
				   .xattrs = from->attributes.items,
				   .xattr_count = from->attributes.count };
	struct timespec time;

	/* where it fails (a file may have only so many names), a copy */
	if (link_one(all, from) == 0)
		return 0;
	if (all->setup->hold)
		apply_hold_give(all->setup->hold,
				apply_room_of(all->setup, change));
	clock_gettime(CLOCK_REALTIME, &time);
	if (keeps_content(change))
		time = change->host.st_mtim;
	entry.mtime = time.tv_sec;
	entry.mtime_ns = (uint32_t)time.tv_nsec;
	if (tree_writer_entry(all->writer, &entry, err) == 0 &&
	    (!S_ISREG(entry.mode) ||
	     copy_content(all->setup, all->writer, from, err) == 0) &&
	    tree_writer_end(all->writer, err) == 0) {
		apply_links_made(all->links, from);
		return 0;
	}
	tree_writer_abandon(all->writer);
	return -1;
}

static int make_one(struct applying *all, const struct change *change,
		    struct error *err)
{
	bool is_folder = S_ISDIR(change->entry->mode);

	if (change->kind == CHANGE_MODE &&
	    (is_folder || change->host.st_nlink == 1))
		return change_mode(all->setup->root, change, err);
	if (change->kind == CHANGE_ATTRIBUTES && is_folder)
		return change_attributes(all->setup, change, err);
	return write_one(all, change, err);
}

bool apply_wants(const struct apply_setup *setup, const struct change *change)
{
	return (setup->force || !change->conflict) && !change->withheld;
}

/* Deletions of a path stand before what is new there (change_list.c). */
static bool is_deleted(const struct change_list *list, const char *path)
{
	size_t low = 0, high = list->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(list->changes[middle].path, path) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < list->count && !strcmp(list->changes[low].path, path) &&
	       list->changes[low].kind == CHANGE_DELETED;
}

/* Whether something of the host's is in its way, or in that of a parent. */
static bool takes_a_place(const struct change_list *list,
			  const struct change *change)
{
	AUTO_FREE char *path = xstrdup(change->path);
	char *slash;

	while (!is_deleted(list, path)) {
		slash = strrchr(path, '/');
		if (!slash)
			return false;
		*slash = '\0';
	}
	return true;
}

static void settle(struct applying *all, size_t at, int result,
		   const struct error *one)
{
	const struct apply_setup *setup = all->setup;

	if (result == 0) {
		if (setup->applied)
			setup->applied(setup->ctx, at);
		return;
	}
	if (all->total == 0 && all->err)
		*all->err = *one;
	all->total = -1;
	all->full |= one->code == ENOSPC || one->code == EDQUOT ||
		     one->code == EFBIG;
}

/* Nothing could be written or deleted in it any more. */
static bool closes_folder(const struct change *change)
{
	return keeps_content(change) && S_ISDIR(change->entry->mode) &&
	       (change->entry->mode & 0300) != 0300;
}

static void write_some(struct applying *all, bool in_place)
{
	const struct apply_setup *setup = all->setup;

	for (size_t i = 0; i < all->list->count && !all->full; i++) {
		const struct change *change = &all->list->changes[i];
		struct error one = { 0 };

		if (apply_wants(setup, change) &&
		    change->kind != CHANGE_DELETED && !closes_folder(change) &&
		    takes_a_place(all->list, change) == in_place)
			settle(all, i, make_one(all, change, &one), &one);
	}
}

static void close_folders(struct applying *all)
{
	for (size_t i = all->list->count; i-- > 0;) {
		const struct change *change = &all->list->changes[i];
		struct error one = { 0 };

		if (apply_wants(all->setup, change) && closes_folder(change))
			settle(all, i, make_one(all, change, &one), &one);
	}
}

static void delete_all(struct applying *all)
{
	for (size_t i = all->list->count; i-- > 0;) {
		const struct change *change = &all->list->changes[i];
		struct error one = { 0 };
		int result;

		if (!apply_wants(all->setup, change) ||
		    change->kind != CHANGE_DELETED)
			continue;
		result = delete_one(all->setup->root, change, &one);
		/* something that was left stays in its folder */
		if (result < 0 && one.code == ENOTEMPTY)
			continue;
		settle(all, i, result, &one);
	}
}

static struct tree_writer *new_writer(const struct apply_setup *setup)
{
	struct tree_writer_setup owner = { .root = setup->root,
					   .uid = TREE_OWNER_SAME,
					   .exact = true };
	struct stat st;

	/* root writes for whoever owns the folder */
	if (geteuid() == 0 && fstat(setup->root, &st) == 0) {
		owner.uid = st.st_uid;
		owner.gid = st.st_gid;
	}
	return tree_writer_new(&owner);
}

int change_apply(const struct apply_setup *setup,
		 const struct change_list *list, struct error *err)
{
	struct applying all = { .setup = setup,
				.list = list,
				.writer = new_writer(setup),
				.err = err };

	all.links = apply_links_new(setup, all.writer);
	write_some(&all, false);
	if (!all.full) {
		delete_all(&all);
		write_some(&all, true);
	}
	close_folders(&all);
	if (tree_writer_finish(all.writer, all.total ? NULL : err) < 0)
		all.total = -1;
	if (setup->unkept)
		*setup->unkept += tree_writer_unkept(all.writer);
	apply_links_free(all.links);
	tree_writer_free(all.writer);
	return all.total;
}
