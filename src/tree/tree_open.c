/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_open.c - paths beneath a folder, with no link followed
 */
#include "tree/tree_open.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "tar/tar_path.h"

#define SHOWN_MAX 256

int tree_open(int root, const char *path, int flags)
{
	const struct open_how how = {
		.flags = (uint64_t)(flags | O_CLOEXEC),
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};
	long fd;

	do {
		/* EAGAIN: something was renamed while the kernel looked */
		fd = syscall(SYS_openat2, root, *path ? path : ".", &how,
			     sizeof(how));
	} while (fd < 0 && (errno == EAGAIN || errno == EINTR));
	return (int)fd;
}

/* A folder that nobody asked for belongs to whom the one above it does. */
static int make_folder(int at, const char *name)
{
	struct stat above, made;

	if (mkdirat(at, name, 0755) < 0)
		return errno == EEXIST ? 0 : -1;
	if (geteuid() != 0)
		return 0;
	if (fstat(at, &above) < 0 ||
	    fstatat(at, name, &made, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	/* a shared folder has one owner, who cannot be changed */
	if (made.st_uid == above.st_uid && made.st_gid == above.st_gid)
		return 0;
	return fchownat(at, name, above.st_uid, above.st_gid,
			AT_SYMLINK_NOFOLLOW);
}

static int make_parents(int root, const char *path, size_t len,
			struct error *err)
{
	AUTO_CLOSE int at = tree_open(root, "", O_PATH | O_DIRECTORY);
	char name[TAR_NAME_MAX + 1];
	const char *end = path + len;

	while (at >= 0 && path < end) {
		const char *slash = memchr(path, '/', (size_t)(end - path));
		int next;

		slash = slash ? slash : end;
		if (text_format(name, sizeof(name), "%.*s", (int)(slash - path),
				path) < 0)
			return tree_error(err, ENAMETOOLONG, path);
		if (make_folder(at, name) < 0)
			return tree_error(err, errno, name);
		next = tree_open(at, name, O_PATH | O_DIRECTORY);
		if (next < 0)
			return tree_error(err, errno, name);
		close(at);
		at = next;
		path = slash + (slash < end);
	}
	return at < 0 ? tree_error(err, errno, path) : TAKE_FD(at);
}

int tree_open_parent(int root, const char *path, unsigned flags,
		     const char **name, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char folder[TAR_PATH_MAX] = "";
	int fd;

	*name = slash ? slash + 1 : path;
	if (slash && text_format(folder, sizeof(folder), "%.*s",
				 (int)(slash - path), path) < 0)
		return tree_error(err, ENAMETOOLONG, path);
	fd = tree_open(root, folder, O_PATH | O_DIRECTORY);
	if (fd < 0 && errno == ENOENT && (flags & TREE_MAKE_PARENTS))
		return make_parents(root, folder, strlen(folder), err);
	return fd < 0 ? tree_error(err, errno, path) : fd;
}

int tree_error(struct error *err, int code, const char *path)
{
	char shown[SHOWN_MAX];

	text_printable(path, strlen(path), shown, sizeof(shown));
	if (code == ELOOP || code == EXDEV)
		return error_say(err, code,
				 "%s: lies behind a symbolic link, which is "
				 "not followed",
				 shown);
	return error_set(err, code, "%s", *shown ? shown : ".");
}

void tree_magic(int fd, char magic[TREE_MAGIC_MAX])
{
	(void)text_format(magic, TREE_MAGIC_MAX, "/proc/self/fd/%d", fd);
}
