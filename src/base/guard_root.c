/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_root.c - what the guard (guard.h) has to know of a shared folder
 */
#include "base/guard_root.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/guard.h"
#include "base/mem.h"
#include "base/own.h"

AUTO_DEFINE(dir, DIR *, closedir)

/* NULL when there is no letter in it. */
static char *in_other_letters(const char *name)
{
	AUTO_FREE char *other = xstrdup(name);

	for (char *p = other; *p; p++) {
		if ((*p | 0x20) >= 'a' && (*p | 0x20) <= 'z')
			*p ^= 0x20;
	}
	return strcmp(other, name) ? TAKE_PTR(other) : NULL;
}

/* 1: an entry answers to its name in other letters, 0: none does; or -1. */
static int answers_to_other_letters(int root)
{
	AUTO_CLOSE int fd =
		openat(root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	AUTO(dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;
	struct stat a, b;

	if (!dir)
		return -1;
	TAKE_FD(fd);
	while ((entry = readdir(dir))) {
		AUTO_FREE char *other = in_other_letters(entry->d_name);

		if (other)
			return fstatat(root, entry->d_name, &a,
				       AT_SYMLINK_NOFOLLOW) == 0 &&
			       fstatat(root, other, &b, AT_SYMLINK_NOFOLLOW) ==
				       0 &&
			       a.st_ino == b.st_ino;
	}
	return 0;
}

/* Elsewhere nobody knows; then `=` of a pattern means nothing. */
bool guard_root_folds_case(int root)
{
	static const uint32_t exact[] = {
		EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,       BTRFS_SUPER_MAGIC,
		TMPFS_MAGIC,      OVERLAYFS_SUPER_MAGIC, F2FS_SUPER_MAGIC,
	};
	struct statfs fs;

	/* Some of them can fold beneath a folder that is marked so. */
	if (fstatfs(root, &fs) < 0 || answers_to_other_letters(root) != 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(exact); i++) {
		if ((uint32_t)fs.f_type == exact[i])
			return false;
	}
	return true;
}

static bool is_bare_repository(int root)
{
	struct stat st;

	return fstatat(root, "HEAD", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       fstatat(root, "objects", &st, 0) == 0 &&
	       fstatat(root, "refs", &st, 0) == 0;
}

void guard_root_enter(const struct guard_list *list, int root,
		      const char *host_path, struct guard_state *state)
{
	guard_enter_share(list, is_bare_repository(root) ? ".git" : host_path,
			  state);
}
