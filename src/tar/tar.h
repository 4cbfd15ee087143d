/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar.h - one entry of a tar archive, as it is read and written
 *
 * The subset: POSIX ustar with pax records; GNU's long names and base-256
 * numbers are understood as well. Everything here is pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "tar/tar_path.h"

#define TAR_BLOCK 512
/* More than an ext4 of usual blocks has room for. */
#define TAR_XATTRS_MAX 256
/* All that stands before an entry: pax records or a long name. */
#define TAR_META_MAX (256u * 1024)
/* Attributes that others than the owner of a file may set; no others are read
 * from archives. */
#define TAR_XATTR_PREFIX "user."

struct tar_xattr {
	const char *name; /* what is read begins with TAR_XATTR_PREFIX */
	const void *value;
	size_t len;
};

struct tar_entry {
	const char *path;   /* as tar_path_normalise() has it; "" = the root */
	mode_t mode;        /* type and permissions; a hard link is S_IFREG */
	const char *target; /* of a link; NULL otherwise */
	bool hard_link;     /* target is a path in the archive */
	uint64_t size;      /* of the content; 0 for all but files */
	int64_t mtime;
	uint32_t mtime_ns;
	uid_t uid;
	gid_t gid;
	unsigned device_major, device_minor;
	const struct tar_xattr *xattrs;
	size_t xattr_count;
	/* what bawn says about the entry, for bawn; NULL: nothing */
	const char *note;
	uint64_t offset; /* set by the reader: where its content begins */
};

/* Notes in a set of changes: the path is gone; nothing below shines through. */
#define TAR_NOTE_DELETED "deleted"
#define TAR_NOTE_OPAQUE "opaque"

/* Zero bytes after a content of this size. */
static inline size_t tar_padding(uint64_t size)
{
	return (size_t)(-size % TAR_BLOCK);
}
