/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fileio_tree.c - remove a folder and all that is in it
 *
 * The tree may have been written by a hostile process: names are anything, the
 * depth is anything, folders have no permission bits, and whoever still runs
 * may swap a folder for a link meanwhile. So each step is openat(O_NOFOLLOW)
 * from a descriptor we hold, nothing recurses, and no descriptor is kept for
 * more than one level: going up is openat("..") compared with the device and
 * inode that we came from. A folder that was moved away while we were inside
 * ends the walk with an error instead of deleting elsewhere.
 */
#include "base/fileio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"

enum {
	/* A path of one-letter folders made with chdir can be this deep. */
	DEPTH_MAX = 1 << 20,
};

/* The folders above the current one, outermost first. */
struct level {
	dev_t dev;
	ino_t ino;
	char *name; /* owned: how the level below is called in this one */
};

struct walk {
	struct level *levels; /* owned */
	size_t depth;
	size_t capacity;
	int fd; /* owned: the folder that is being emptied */
};

static void walk_auto(struct walk *walk)
{
	while (walk->depth)
		free(walk->levels[--walk->depth].name);
	free(walk->levels);
	if (walk->fd >= 0)
		close(walk->fd);
}

static void dir_auto(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/*
 * openat() that takes no link and crosses into no other mount: somebody else's
 * folder may be mounted in the tree. The struct is that of linux/openat2.h,
 * which not every libc comes with.
 */
enum {
	STAY_INSIDE = 0x01 | 0x04, /* RESOLVE_NO_XDEV, RESOLVE_NO_SYMLINKS */
};

static int open_inside(int dirfd, const char *name, int flags, uint64_t resolve)
{
	const struct {
		uint64_t flags, mode, resolve;
	} how = {
		.flags = (uint64_t)(flags | O_DIRECTORY | O_NOFOLLOW |
				    O_CLOEXEC),
		.resolve = resolve,
	};

	return (int)syscall(SYS_openat2, dirfd, name, &how, sizeof(how));
}

/* Opens a folder, making it ours to read first when its mode is in the way. */
static int open_folder(int dirfd, const char *name, uint64_t resolve)
{
	AUTO_CLOSE int path_fd = -1;
	int fd = open_inside(dirfd, name, O_RDONLY, resolve);
	char magic[64];
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & 0700) != 0700)
		(void)fchmod(fd, 0700);
	if (fd >= 0 || errno != EACCES)
		return fd;
	/* fchmodat() follows links: hold the folder itself, then change it. */
	path_fd = open_inside(dirfd, name, O_PATH, resolve);
	if (path_fd < 0)
		return -1;
	(void)snprintf(magic, sizeof(magic), "/proc/self/fd/%d", path_fd);
	if (chmod(magic, 0700) < 0) {
		errno = EACCES;
		return -1;
	}
	return open_inside(path_fd, ".", O_RDONLY, STAY_INSIDE);
}

/* Goes into name, which lies in walk->fd. */
static int walk_down(struct walk *walk, const char *name, struct error *err)
{
	AUTO_CLOSE int fd = open_folder(walk->fd, name, STAY_INSIDE);
	struct stat st;

	if (fd < 0 && errno == EXDEV)
		return error_set(err, 0, "%s: something is mounted on it",
				 name);
	if (fd < 0 || fstat(walk->fd, &st) < 0)
		return error_set(err, errno, "%s", name);
	if (walk->depth == DEPTH_MAX)
		return error_set(err, 0, "%s: more than %d folders deep", name,
				 DEPTH_MAX);
	if (walk->depth == walk->capacity) {
		walk->capacity = walk->capacity ? walk->capacity * 2 : 16;
		walk->levels = xrealloc(walk->levels,
					walk->capacity * sizeof(*walk->levels));
	}
	walk->levels[walk->depth++] =
		(struct level){ st.st_dev, st.st_ino, xstrdup(name) };
	close(walk->fd);
	walk->fd = TAKE_FD(fd);
	return 0;
}

/* Goes up from an emptied folder and removes it. */
static int walk_up(struct walk *walk, struct error *err)
{
	AUTO_CLOSE int fd =
		openat(walk->fd, "..",
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct level *level = &walk->levels[walk->depth - 1];
	AUTO_FREE char *name = TAKE_PTR(level->name);
	struct stat st;

	walk->depth--;
	if (fd < 0 || fstat(fd, &st) < 0)
		return error_set(err, errno, "%s/..", name);
	if (st.st_dev != level->dev || st.st_ino != level->ino)
		return error_set(err, 0, "%s: moved while it was removed",
				 name);
	close(walk->fd);
	walk->fd = TAKE_FD(fd);
	if (unlinkat(walk->fd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_set(err, errno, "%s", name);
	return 0;
}

/*
 * Removes what is not a folder from walk->fd. Returns 1 after going into a
 * folder, 0 when nothing is left.
 */
static int walk_clear(struct walk *walk, struct error *err)
{
	__attribute__((cleanup(dir_auto))) DIR *dir = NULL;
	AUTO_CLOSE int fd =
		openat(walk->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct dirent *entry;

	dir = fd < 0 ? NULL : fdopendir(fd);
	if (!dir)
		return error_set(err, errno, "open folder");
	(void)TAKE_FD(fd);
	while (errno = 0, (entry = readdir(dir))) {
		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		if (unlinkat(walk->fd, entry->d_name, 0) == 0 ||
		    errno == ENOENT)
			continue;
		if (errno != EISDIR)
			return error_set(err, errno, "%s", entry->d_name);
		return walk_down(walk, entry->d_name, err) < 0 ? -1 : 1;
	}
	return errno ? error_set(err, errno, "read folder") : 0;
}

static int remove_below(struct walk *walk, struct error *err)
{
	for (;;) {
		int rc = walk_clear(walk, err);

		if (rc < 0)
			return -1;
		if (rc)
			continue;
		if (!walk->depth)
			return 0;
		if (walk_up(walk, err) < 0)
			return -1;
	}
}

int fileio_remove_tree(int dirfd, const char *name, struct error *err)
{
	__attribute__((cleanup(walk_auto))) struct walk walk = { .fd = -1 };

	if (unlinkat(dirfd, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR)
		return error_set(err, errno, "remove %s", name);
	/* Tells a mounted folder (EBUSY) before anything in it is gone. */
	if (unlinkat(dirfd, name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno != ENOTEMPTY && errno != EEXIST)
		return error_set(err, errno, "remove %s", name);
	/* Above the tree the path is the caller's: it may cross mounts. */
	walk.fd = open_folder(dirfd, name, 0);
	if (walk.fd < 0)
		return error_set(err, errno, "%s", name);
	if (remove_below(&walk, err) < 0)
		return error_prefix(err, "remove %s", name);
	if (unlinkat(dirfd, name, AT_REMOVEDIR) < 0 && errno != ENOENT)
		return error_set(err, errno, "remove %s", name);
	return 0;
}
