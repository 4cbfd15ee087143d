/* SPDX-License-Identifier: Apache-2.0 */
/*
 * place.c - paths of a journal in a workspace, beneath its root
 */
#include "undo/place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "undo/journal.h"

#define CHUNK 3500 /* below what one path may have */
#define NS 1000000000LL
#define STATX_WANTED (STATX_BASIC_STATS | STATX_BTIME)

static int open_folder(int dir, const char *path)
{
	struct open_how how = {
		.flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	long fd = -1;

	/* EAGAIN: a rename elsewhere came in between and it could not tell. */
	for (int tries = 0; tries < 16; tries++) {
		fd = syscall(SYS_openat2, dir, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return (int)fd;
}

/* The longest part of len bytes that ends before a slash and fits. */
static size_t chunk_length(const char *path, size_t len)
{
	if (len <= CHUNK)
		return len;
	for (size_t end = CHUNK; end > 0; end--) {
		if (path[end] == '/')
			return end;
	}
	return len;
}

int place_parent(int root, const char *path, const char **name)
{
	const char *slash = strrchr(path, '/');
	AUTO_CLOSE int fd = open_folder(root, ".");
	size_t len = slash ? (size_t)(slash - path) : 0;
	char chunk[CHUNK + 1];

	*name = slash ? slash + 1 : *path ? path : ".";
	while (fd >= 0 && len > 0) {
		size_t part = chunk_length(path, len);
		int next;

		if (part > CHUNK) {
			errno = ENAMETOOLONG;
			return -1;
		}
		memcpy(chunk, path, part);
		chunk[part] = '\0';
		next = open_folder(fd, chunk);
		close(fd);
		fd = next;
		part += part < len;
		path += part;
		len -= part;
	}
	return TAKE_FD(fd);
}

static int64_t to_ns(const struct statx_timestamp *time)
{
	if (time->tv_sec > INT64_MAX / NS - 1 ||
	    time->tv_sec < INT64_MIN / NS + 1)
		return 0;
	return time->tv_sec * NS + time->tv_nsec;
}

void place_file(const struct statx *st, struct journal_file *file)
{
	*file = (struct journal_file){
		.dev = (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor,
		.ino = st->stx_ino,
		.mode = st->stx_mode,
		.size = st->stx_size,
		.atime_ns = to_ns(&st->stx_atime),
		.mtime_ns = to_ns(&st->stx_mtime),
	};
	if (st->stx_mask & STATX_BTIME)
		file->btime_ns = (uint64_t)to_ns(&st->stx_btime);
}

int place_stat(int root, const char *path, struct journal_file *file)
{
	AUTO_CLOSE int folder = -1;
	const char *name = "";
	struct statx st;
	int flags = AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT;

	if (*path) {
		folder = place_parent(root, path, &name);
		if (folder < 0)
			return -1;
	} else {
		flags |= AT_EMPTY_PATH;
	}
	if (statx(*path ? folder : root, name, flags, STATX_WANTED, &st) < 0)
		return -1;
	place_file(&st, file);
	return 0;
}

bool place_same_inode(const struct journal_file *a,
		      const struct journal_file *b)
{
	return a->dev == b->dev && a->ino == b->ino &&
	       a->btime_ns == b->btime_ns;
}

bool place_happened(int root, const struct journal_record *record)
{
	bool moved = record->type == JOURNAL_RENAME ||
		     record->type == JOURNAL_EXCHANGE;
	struct journal_file now;
	bool there = place_stat(root, moved ? record->text : record->path,
				&now) == 0;

	if (record->type == JOURNAL_CREATE)
		return there;
	if (record->type == JOURNAL_REMOVE)
		return !there || !place_same_inode(&now, &record->file);
	if (moved)
		return there && place_same_inode(&now, &record->file);
	return true;
}
