/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry_same.c - whether the host has what the guest has
 */
#include "changes/entry_same.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "changes/attributes.h"
#include "changes/change_set.h"
#include "tree/tree_open.h"

#define COMPARE_BYTES (64u * 1024)

static ssize_t read_full(int fd, void *bytes, size_t len, off_t at)
{
	size_t have = 0;

	while (have < len) {
		ssize_t got = pread(fd, (char *)bytes + have, len - have,
				    at + (off_t)have);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -1;
		if (!got)
			break;
		have += (size_t)got;
	}
	return (ssize_t)have;
}

bool entry_same_content(const struct change_set *set,
			const struct set_entry *entry, int at, const char *name)
{
	AUTO_CLOSE int fd =
		tree_open(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
	AUTO_FREE char *a = xmalloc(COMPARE_BYTES), *b = xmalloc(COMPARE_BYTES);
	uint64_t done = 0;

	while (fd >= 0 && done < entry->size) {
		size_t now = entry->size - done < COMPARE_BYTES
				     ? (size_t)(entry->size - done)
				     : COMPARE_BYTES;

		if (read_full(fd, a, now, (off_t)done) != (ssize_t)now ||
		    read_full(set->fd, b, now, (off_t)(entry->offset + done)) !=
			    (ssize_t)now ||
		    memcmp(a, b, now) != 0)
			return false;
		done += now;
	}
	return fd >= 0;
}

bool entry_same_target(const struct set_entry *entry, int at, const char *name)
{
	char now[TAR_PATH_MAX];
	ssize_t len = readlinkat(at, name, now, sizeof(now) - 1);

	return len >= 0 && (size_t)len == strlen(entry->target) &&
	       !memcmp(now, entry->target, (size_t)len);
}

bool entry_same_attributes(const struct set_entry *entry, int at,
			   const char *name)
{
	AUTO_ATTRIBUTES struct attributes now = { NULL, 0 };

	if (S_ISLNK(entry->mode))
		return true;
	attributes_read(&now, at, name);
	return attributes_same(&now, &entry->attributes);
}

bool entry_same_file(const struct change_set *set,
		     const struct set_entry *entry, int at, const char *name,
		     struct stat *st)
{
	return fstatat(at, name, st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISREG(st->st_mode) &&
	       ((st->st_mode ^ entry->mode) & 0777) == 0 &&
	       (uint64_t)st->st_size == entry->size &&
	       entry_same_attributes(entry, at, name) &&
	       entry_same_content(set, entry, at, name);
}
