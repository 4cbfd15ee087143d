/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo_save.c - contents and attributes, out of the guest's reach
 */
#include "files/undo_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"

#define NAMES_BYTES 4096
#define VALUE_BYTES 65536

/* Through /proc/self/fd, the working folder: fd may be of any kind. */
static int open_again(int fd)
{
	char number[16];

	text_format(number, sizeof(number), "%d", fd);
	return open(number, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

static int copy_to(struct undo *undo, int fd, off_t size, const char *name)
{
	AUTO_CLOSE int from = open_again(fd), to = -1;
	struct error err = { 0 };

	if (from < 0)
		return -1;
	to = openat(undo->files, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
		    0600);
	if (to < 0)
		return -1;
	if (fileio_copy_data(from, to, size, &err) == 0)
		return 0;
	unlinkat(undo->files, name, 0);
	return -1;
}

uint32_t undo_save_copy(struct undo *undo, int fd, uint64_t size,
			uint64_t blocks)
{
	char name[16];

	if (undo->saved == UNDO_NUMBER_MAX ||
	    undo_charge(undo, blocks * 512) < 0)
		return 0;
	text_format(name, sizeof(name), "%u", undo->saved + 1);
	if (copy_to(undo, fd, (off_t)size, name) < 0)
		return 0;
	return ++undo->saved;
}

static size_t add_one(struct undo *undo, size_t len, const char *number,
		      const char *name)
{
	struct journal_xattr one = { .name = name };
	uint8_t value[VALUE_BYTES];
	ssize_t got;
	size_t added;

	if (!text_starts(name, "user."))
		return len;
	got = getxattr(number, name, value, sizeof(value));
	if (got < 0)
		return len;
	one.value = value;
	one.len = (size_t)got;
	added = journal_xattr_add(undo->xattrs, len, JOURNAL_XATTRS_MAX, &one);
	return added ? added : len;
}

size_t undo_save_xattrs(struct undo *undo, int fd)
{
	char number[16], names[NAMES_BYTES];
	ssize_t listed;
	size_t len = 0;

	text_format(number, sizeof(number), "%d", fd);
	listed = listxattr(number, names, sizeof(names));
	for (ssize_t at = 0; at < listed;) {
		len = add_one(undo, len, number, names + at);
		at += (ssize_t)strlen(names + at) + 1;
	}
	return len;
}
