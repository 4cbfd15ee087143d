/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlay_discard.c - changes over a shared folder are dropped
 */
#include "guest/overlay.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/sysfile.h"
#include "tar/tar_path.h"
#include "tree/tree_open.h"

#define USERS_SHOWN 4

AUTO_DEFINE(dir, DIR *, closedir)

/* Whether /proc/PID/NAME leads to the file system dev. */
static bool leads_to(int process, const char *name, dev_t dev)
{
	struct stat st;

	return fstatat(process, name, &st, 0) == 0 && st.st_dev == dev;
}

static bool has_open(int process, dev_t dev)
{
	AUTO_CLOSE int fd =
		openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	bool found = false;

	if (!dir)
		return false;
	fd = -1; /* the stream's now */
	while (!found && (entry = readdir(dir)))
		found = leads_to(dirfd(dir), entry->d_name, dev);
	return found;
}

static bool uses(int process, dev_t dev)
{
	return leads_to(process, "cwd", dev) ||
	       leads_to(process, "root", dev) ||
	       leads_to(process, "exe", dev) || has_open(process, dev);
}

/* "bash (312), vim (340)" */
static void name_users(dev_t dev, char *text, size_t size)
{
	AUTO(dir) DIR *dir = opendir("/proc");
	const struct dirent *entry;
	size_t len = 0, count = 0;

	text[0] = '\0';
	while (dir && count < USERS_SHOWN && (entry = readdir(dir))) {
		AUTO_CLOSE int process = -1;
		char name[32], safe[80];
		ssize_t got;

		if (entry->d_name[0] < '1' || entry->d_name[0] > '9')
			continue;
		process = openat(dirfd(dir), entry->d_name,
				 O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (process < 0 || !uses(process, dev))
			continue;
		got = sysfile_read(process, "comm", name, sizeof(name));
		text_printable(name, got > 0 ? strcspn(name, "\n") : 0, safe,
			       sizeof(safe));
		if (text_format(text + len, size - len, "%s%s (%s)",
				count ? ", " : "", safe, entry->d_name) < 0)
			return;
		len = strlen(text);
		count++;
	}
}

static int take_away(const char *path, struct error *err)
{
	struct stat st;
	char users[256];

	if (umount2(path, UMOUNT_NOFOLLOW) == 0)
		return 0;
	if (errno != EBUSY)
		return error_set(err, errno, "%s", path);
	if (stat(path, &st) < 0)
		return error_set(err, errno, "%s", path);
	name_users(st.st_dev, users, sizeof(users));
	return error_set(err, 0, "%s is in use by %s: end that first", path,
			 users[0] ? users : "something that is mounted in it");
}

/* An ancestor that is deleted or replaced as a whole: it must go first. */
static int check_above(int upper, const char *path, struct error *err)
{
	char above[TAR_PATH_MAX];

	for (size_t i = 1; path[i]; i++) {
		AUTO_CLOSE int fd = -1;
		char value[4];
		struct stat st;

		if (path[i] != '/')
			continue;
		text_format(above, sizeof(above), "%.*s", (int)i, path);
		fd = tree_open(upper, above,
			       O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
		if (fd < 0 && errno == ENOENT)
			return 0;
		/* a whiteout is a device that nobody serves */
		if (fd < 0 || fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode) ||
		    fgetxattr(fd, "trusted.overlay.opaque", value,
			      sizeof(value)) > 0) {
			tree_error(err, 0, above);
			return error_prefix(err, "deleted or replaced as a "
						 "whole, discard that");
		}
	}
	return 0;
}

static int remove_one(int upper, const char *path, struct error *err)
{
	AUTO_CLOSE int at = -1;
	const char *name;
	struct error why = { 0 };

	if (check_above(upper, path, err) < 0)
		return -1;
	at = tree_open_parent(upper, path, 0, &name, &why);
	if (at < 0 && why.code == ENOENT)
		return 0;
	if (at < 0)
		return error_set(err, why.code, "%s", path);
	return fileio_remove_tree(at, name, err);
}

static int remove_all(int upper, struct error *err)
{
	AUTO_CLOSE int fd = tree_open(upper, "", O_RDONLY | O_DIRECTORY);
	AUTO(dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!dir)
		return error_set(err, errno, "upper folder");
	fd = -1; /* the stream's now */
	while ((entry = readdir(dir)))
		if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, "..") &&
		    fileio_remove_tree(upper, entry->d_name, err) < 0)
			return -1;
	return 0;
}

static int remove_paths(int upper, const char *paths, size_t len,
			struct error *err)
{
	char path[TAR_PATH_MAX];

	if (!len)
		return remove_all(upper, err);
	while (len) {
		size_t one = strnlen(paths, len);

		if (one == len)
			return error_set(err, 0, "the list was cut off");
		if (one == 0)
			return remove_all(upper, err);
		if (tar_path_normalise(paths, one, path, err) < 0 ||
		    remove_one(upper, path, err) < 0)
			return -1;
		paths += one + 1;
		len -= one + 1;
	}
	return 0;
}

int overlay_discard(unsigned number, const char *path, const char *paths,
		    size_t len, struct error *err)
{
	char name[OVERLAY_PATH_MAX];
	AUTO_CLOSE int upper = -1;
	int result;

	overlay_upper(number, name);
	upper = open(name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (upper < 0)
		return error_set(err, errno, "%s", name);
	if (take_away(path, err) < 0)
		return -1;
	result = remove_paths(upper, paths, len, err);
	if (overlay_mount(number, path, result ? NULL : err) < 0)
		return -1;
	return result;
}
