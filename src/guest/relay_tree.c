/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_tree.c - places to mount at
 */
#include "guest/relay_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/mount_table.h"

#define MOUNTS_BYTES_MAX (1U << 20)

static int make_file(const char *path, struct error *err)
{
	char folder[PATH_MAX];
	int fd;

	if (text_copy(folder, sizeof(folder), path))
		return error_set(err, ENAMETOOLONG, "%s", path);
	*strrchr(folder, '/') = '\0';
	if (folder[0] && fileio_mkdirs(folder, 0755, err))
		return -1;
	fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
	if (fd < 0 && errno != EEXIST)
		return error_set(err, errno, "%s", path);
	if (fd >= 0)
		close(fd);
	return 0;
}

/* How much of the path is there, and whose the last of it is. */
static size_t there(const char *path, struct stat *st)
{
	char folder[PATH_MAX];
	char *slash;

	if (text_copy(folder, sizeof(folder), path))
		return strlen(path);
	while (lstat(folder, st) && (slash = strrchr(folder, '/')) &&
	       slash != folder)
		*slash = '\0';
	return strlen(folder);
}

/* In somebody's home what we had to make is theirs. */
static void give_away(const char *path, size_t from, const struct stat *st)
{
	char folder[PATH_MAX];

	if (!st->st_uid || text_copy(folder, sizeof(folder), path))
		return;
	for (size_t i = from + 1; folder[i]; i++) {
		if (folder[i] != '/')
			continue;
		folder[i] = '\0';
		(void)!lchown(folder, st->st_uid, st->st_gid);
		folder[i] = '/';
	}
}

int relay_tree_make(const char *path, mode_t type, struct error *err)
{
	struct stat st = { 0 };
	size_t old = there(path, &st);
	int result = type == S_IFDIR ? fileio_mkdirs(path, 0755, err)
				     : make_file(path, err);

	if (result == 0 && old < strlen(path))
		give_away(path, old, &st);
	return result;
}

void relay_tree_open(const char *path)
{
	char folder[PATH_MAX];
	struct stat root, st;

	if (text_copy(folder, sizeof(folder), path) || stat("/", &root))
		return;
	for (char *slash = strrchr(folder, '/'); slash && slash != folder;
	     slash = strrchr(folder, '/')) {
		*slash = '\0';
		/* what is on another file system may be the host's */
		if (lstat(folder, &st) || st.st_dev != root.st_dev ||
		    !S_ISDIR(st.st_mode) || (st.st_mode & S_IXOTH))
			continue;
		if (chmod(folder, (st.st_mode & 07777) | S_IXOTH))
			return;
	}
}

void relay_tree_clear(const char *source)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(MOUNTS_BYTES_MAX);
	struct error err;
	struct slice rest;
	char path[PATH_MAX];

	if (fileio_read(AT_FDCWD, "/proc/self/mountinfo", &text, &err))
		return;
	/* What lies below another one leaves together with it. */
	rest = (struct slice){ (const char *)text.data, text.len };
	while (mount_table_next(&rest, source, path, sizeof(path)))
		umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW);
}
