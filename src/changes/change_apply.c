/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_apply.c - a list of changes, written to the host's folder
 *
 * Deletions go first, from the inside out, then what is new or changed. Each
 * file is written beside the old one and renamed. Files get the present time,
 * or tools that compare times would not notice them.
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

static int write_one(const struct apply_setup *setup,
		     struct tree_writer *writer, const struct change *change,
		     struct error *err)
{
	const struct set_entry *from = change->entry;
	struct tar_entry entry = { .path = from->path,
				   .mode = from->mode,
				   .target = from->target,
				   .size = from->size };
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	entry.mtime = now.tv_sec;
	entry.mtime_ns = (uint32_t)now.tv_nsec;
	if (tree_writer_entry(writer, &entry, err) == 0 &&
	    (!S_ISREG(entry.mode) ||
	     copy_content(setup, writer, from, err) == 0) &&
	    tree_writer_end(writer, err) == 0)
		return 0;
	tree_writer_abandon(writer);
	return -1;
}

static bool wanted(const struct apply_setup *setup, const struct change *change)
{
	return (setup->force || !change->conflict) && !change->withheld;
}

static void settle(const struct apply_setup *setup, size_t at, int result,
		   struct error *one, int *total, struct error *err)
{
	if (result == 0) {
		if (setup->applied)
			setup->applied(setup->ctx, at);
		return;
	}
	if (*total == 0 && err)
		*err = *one;
	*total = -1;
}

static int write_all(const struct apply_setup *setup,
		     const struct change_list *list, struct error *err)
{
	struct tree_writer_setup owner = { .root = setup->root,
					   .uid = TREE_OWNER_SAME };
	struct tree_writer *writer;
	struct stat st;
	int total = 0;

	/* root writes for whoever owns the folder */
	if (geteuid() == 0 && fstat(setup->root, &st) == 0) {
		owner.uid = st.st_uid;
		owner.gid = st.st_gid;
	}
	writer = tree_writer_new(&owner);
	for (size_t i = 0; i < list->count; i++) {
		const struct change *change = &list->changes[i];
		struct error one = { 0 };
		int result;

		if (!wanted(setup, change) || change->kind == CHANGE_DELETED)
			continue;
		result = change->kind == CHANGE_MODE
				 ? change_mode(setup->root, change, &one)
				 : write_one(setup, writer, change, &one);
		settle(setup, i, result, &one, &total, err);
	}
	if (tree_writer_finish(writer, total ? NULL : err) < 0)
		total = -1;
	tree_writer_free(writer);
	return total;
}

int change_apply(const struct apply_setup *setup,
		 const struct change_list *list, struct error *err)
{
	int total = 0;

	for (size_t i = list->count; i-- > 0;) {
		const struct change *change = &list->changes[i];
		struct error one = { 0 };
		int result;

		if (!wanted(setup, change) || change->kind != CHANGE_DELETED)
			continue;
		result = delete_one(setup->root, change, &one);
		/* something that was left stays in its folder */
		if (result < 0 && one.code == ENOTEMPTY)
			continue;
		settle(setup, i, result, &one, &total, err);
	}
	if (write_all(setup, list, total ? NULL : err) < 0)
		total = -1;
	return total;
}
