/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_walk.c - a folder or file as a tar archive, with no link followed
 */
#include "tree/tree_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "tar/tar_write.h"
#include "tree/tree_open.h"

#define READ_BYTES (128u * 1024)
#define XATTR_NAMES_MAX (8u * 1024)
#define XATTR_BYTES_MAX (64u * 1024)
/* A descriptor is open for each level. */
#define DEPTH_MAX 512

AUTO_DEFINE(dir, DIR *, closedir)

/* A file with several names, and the first of them. */
struct linked {
	dev_t dev;
	ino_t ino;
	char *path; /* owned */
};

struct walk {
	const struct tree_walk_setup *setup;
	struct buffer head; /* owned */
	void *linked;       /* owned: tsearch() of struct linked */
	uint8_t *bytes;     /* owned: READ_BYTES */
	unsigned depth;
	char path[TAR_PATH_MAX]; /* in the archive */
	/* attributes of the current entry */
	char names[XATTR_NAMES_MAX];
	uint8_t values[XATTR_BYTES_MAX];
	struct tar_xattr xattrs[TAR_XATTRS_MAX];
};

static int compare_linked(const void *a, const void *b)
{
	const struct linked *x = a, *y = b;

	if (x->dev != y->dev)
		return x->dev < y->dev ? -1 : 1;
	return x->ino == y->ino ? 0 : x->ino < y->ino ? -1 : 1;
}

static void free_linked(void *p)
{
	struct linked *linked = p;

	free(linked->path);
	free(linked);
}

static void skip(struct walk *walk, const char *why)
{
	if (walk->setup->skipped)
		walk->setup->skipped(walk->setup->ctx, walk->path, why);
}

static int put_head(struct walk *walk, const struct tar_entry *entry,
		    struct error *err)
{
	buffer_consume(&walk->head, walk->head.len);
	if (tar_write_entry(entry, &walk->head) < 0)
		return tree_error(err, ENAMETOOLONG, walk->path);
	return walk->setup->put(walk->setup->ctx, walk->head.data,
				walk->head.len, err);
}

/* What programs find again: file capabilities, lists of rights, overlays. */
static bool takes_xattr(const struct walk *walk, const char *name)
{
	static const char *const of_disks[] = { "security.capability",
						"system.posix_acl_",
						"trusted." };

	bool is_user = text_starts(name, TAR_XATTR_PREFIX);

	if (!(walk->setup->flags & TREE_WALK_DISK))
		return is_user;
	/* who makes a disk of the archive does not know how we write that */
	if (strchr(name, '='))
		return false;
	if (is_user)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(of_disks); i++)
		if (text_starts(name, of_disks[i]))
			return true;
	return false;
}

static void read_xattrs(struct walk *walk, int fd, struct tar_entry *entry)
{
	ssize_t len = flistxattr(fd, walk->names, sizeof(walk->names));
	size_t used = 0;

	entry->xattrs = walk->xattrs;
	for (ssize_t at = 0; at < len && entry->xattr_count < TAR_XATTRS_MAX;) {
		const char *name = walk->names + at;
		ssize_t got;

		at += (ssize_t)strlen(name) + 1;
		if (!takes_xattr(walk, name))
			continue;
		got = fgetxattr(fd, name, walk->values + used,
				sizeof(walk->values) - used);
		if (got < 0)
			continue;
		walk->xattrs[entry->xattr_count++] =
			(struct tar_xattr){ name, walk->values + used,
					    (size_t)got };
		used += (size_t)got;
	}
}

static int put_zeroes(struct walk *walk, uint64_t len, struct error *err)
{
	memset(walk->bytes, 0, len < READ_BYTES ? (size_t)len : READ_BYTES);
	while (len) {
		size_t now = len < READ_BYTES ? (size_t)len : READ_BYTES;

		if (walk->setup->put(walk->setup->ctx, walk->bytes, now, err) <
		    0)
			return -1;
		len -= now;
	}
	return 0;
}

static ssize_t read_some(struct walk *walk, int fd, uint64_t at, size_t len)
{
	const struct tree_walk_setup *setup = walk->setup;

	return setup->read ? setup->read(setup->ctx, fd, at, walk->bytes, len)
			   : read(fd, walk->bytes, len);
}

/* Exactly size bytes, whatever happens to the file meanwhile. */
static int put_content(struct walk *walk, int fd, uint64_t size,
		       struct error *err)
{
	uint64_t left = size;

	while (left) {
		ssize_t got = read_some(walk, fd, size - left,
					left < READ_BYTES ? left : READ_BYTES);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return tree_error(err, errno, walk->path);
		if (!got) {
			skip(walk, "became shorter while it was read; the rest "
				   "is zero");
			break;
		}
		if (walk->setup->put(walk->setup->ctx, walk->bytes, (size_t)got,
				     err) < 0)
			return -1;
		left -= (uint64_t)got;
	}
	return put_zeroes(walk, left + tar_padding(size), err);
}

/* True when the archive has this file already, under entry->target. */
static bool seen_before(struct walk *walk, const struct stat *st,
			struct tar_entry *entry)
{
	struct linked *linked, **found;

	if (st->st_nlink < 2)
		return false;
	linked = xcalloc(1, sizeof(*linked));
	linked->dev = st->st_dev;
	linked->ino = st->st_ino;
	found = tsearch(linked, &walk->linked, compare_linked);
	if (!found)
		abort();
	if (*found == linked) {
		linked->path = xstrdup(walk->path);
		return false;
	}
	free(linked);
	entry->hard_link = true;
	entry->target = (*found)->path;
	return true;
}

static int put_file(struct walk *walk, int at, const char *name,
		    struct tar_entry *entry, struct error *err)
{
	AUTO_CLOSE int fd = openat(at, name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					   O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return tree_error(err, errno, walk->path);
	if (!S_ISREG(st.st_mode)) {
		skip(walk, "was replaced while it was read");
		return 0;
	}
	entry->mode = st.st_mode;
	if (seen_before(walk, &st, entry))
		return put_head(walk, entry, err);
	entry->size = (uint64_t)st.st_size;
	read_xattrs(walk, fd, entry);
	if (put_head(walk, entry, err) < 0)
		return -1;
	return put_content(walk, fd, entry->size, err);
}

static int put_link(struct walk *walk, int at, const char *name,
		    struct tar_entry *entry, struct error *err)
{
	char target[TAR_PATH_MAX];
	ssize_t len = readlinkat(at, name, target, sizeof(target) - 1);

	if (len < 0 && errno == ENOENT)
		return 0;
	if (len < 0)
		return tree_error(err, errno, walk->path);
	target[len] = '\0';
	entry->target = target;
	return put_head(walk, entry, err);
}

static bool is_opaque(const struct walk *walk, int fd)
{
	char value[4];

	return (walk->setup->flags & TREE_WALK_CHANGES) &&
	       fgetxattr(fd, "trusted.overlay.opaque", value, sizeof(value)) ==
		       1 &&
	       value[0] == 'y';
}

/* One such path must not keep all other changes from being seen. */
static int too_long(struct walk *walk, struct error *err)
{
	if (!(walk->setup->flags & TREE_WALK_CHANGES))
		return tree_error(err, ENAMETOOLONG, walk->path);
	skip(walk, "what lies in it is too deep to be copied");
	return 0;
}

static int put_one(struct walk *walk, int at, const char *name,
		   struct error *err);

static int put_children(struct walk *walk, int fd, struct error *err)
{
	AUTO(dir) DIR *dir = fdopendir(fd);
	size_t len = strlen(walk->path);
	struct dirent *child;
	int result = 0;

	if (!dir) {
		close(fd);
		return tree_error(err, errno, walk->path);
	}
	if (walk->depth == DEPTH_MAX)
		return too_long(walk, err);
	walk->depth++;
	while (result == 0 && (errno = 0, (child = readdir(dir)))) {
		const char *name = child->d_name;

		if (!strcmp(name, ".") || !strcmp(name, ".."))
			continue;
		if (text_format(walk->path + len, sizeof(walk->path) - len,
				"%s%s", len ? "/" : "", name) == 0) {
			result = put_one(walk, fd, name, err);
		} else {
			walk->path[len] = '\0';
			result = too_long(walk, err);
		}
		walk->path[len] = '\0';
	}
	if (result == 0 && errno)
		result = tree_error(err, errno, walk->path);
	walk->depth--;
	return result;
}

static int put_folder(struct walk *walk, int at, const char *name, bool empty,
		      struct tar_entry *entry, struct error *err)
{
	AUTO_CLOSE int fd = openat(
		at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0)
		return tree_error(err, errno, walk->path);
	read_xattrs(walk, fd, entry);
	if (is_opaque(walk, fd))
		entry->note = TAR_NOTE_OPAQUE;
	if (put_head(walk, entry, err) < 0)
		return -1;
	return empty ? 0 : put_children(walk, TAKE_FD(fd), err);
}

static bool is_special(const struct walk *walk, mode_t mode)
{
	return (walk->setup->flags & TREE_WALK_DISK) &&
	       (S_ISCHR(mode) || S_ISBLK(mode) || S_ISFIFO(mode));
}

static int put_one(struct walk *walk, int at, const char *name,
		   struct error *err)
{
	const struct tree_walk_setup *setup = walk->setup;
	struct tar_entry entry = { .path = walk->path };
	enum tree_walk_choice choice = TREE_WALK_TAKE;
	struct stat st;

	if (setup->choose)
		choice = setup->choose(setup->ctx, walk->path);
	if (choice == TREE_WALK_LEAVE)
		return 0;
	if (fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT && walk->depth
			       ? 0
			       : tree_error(err, errno, walk->path);
	entry.mode = st.st_mode;
	entry.uid = st.st_uid;
	entry.gid = st.st_gid;
	entry.mtime = st.st_mtim.tv_sec;
	entry.mtime_ns = (uint32_t)st.st_mtim.tv_nsec;
	if (S_ISDIR(st.st_mode))
		return put_folder(walk, at, name, choice == TREE_WALK_EMPTY,
				  &entry, err);
	if (S_ISLNK(st.st_mode))
		return put_link(walk, at, name, &entry, err);
	if (S_ISREG(st.st_mode))
		return put_file(walk, at, name, &entry, err);
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(0, 0) &&
	    (setup->flags & TREE_WALK_CHANGES)) {
		entry.mode = S_IFREG;
		entry.note = TAR_NOTE_DELETED;
		return put_head(walk, &entry, err);
	}
	if (is_special(walk, st.st_mode)) {
		entry.device_major = major(st.st_rdev);
		entry.device_minor = minor(st.st_rdev);
		return put_head(walk, &entry, err);
	}
	skip(walk, "a device, FIFO or socket is not copied");
	return 0;
}

int tree_walk(int at, const char *name, const char *as,
	      const struct tree_walk_setup *setup, struct error *err)
{
	struct walk *walk = xcalloc(1, sizeof(*walk));
	int result = -1;

	walk->setup = setup;
	walk->bytes = xmalloc(READ_BYTES);
	buffer_init(&walk->head, TAR_META_MAX + 8 * TAR_BLOCK);
	if (text_copy(walk->path, sizeof(walk->path), as) < 0)
		error_set(err, ENAMETOOLONG, "path in the archive");
	else
		result = put_one(walk, at, name, err);
	buffer_consume(&walk->head, walk->head.len);
	if (result == 0 && tar_write_end(&walk->head) == 0)
		result = setup->put(setup->ctx, walk->head.data, walk->head.len,
				    err);
	tdestroy(walk->linked, free_linked);
	buffer_release(&walk->head);
	free(walk->bytes);
	free(walk);
	return result;
}
