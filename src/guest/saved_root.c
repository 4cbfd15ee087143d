/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saved_root.c - a disk that becomes a template: what of it is this one
 * sandbox's
 */
#include "guest/saved_root.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "guest/trust.h"

/* Out of the way of the walk: a rename takes no time, a removal may. */
#define HIDDEN ".bawn-left-out"
#define NUMBERS_MAX 4096

static const struct {
	const char *path; /* a "*" at its end: whatever follows */
	enum tree_walk_choice choice;
} rules[] = {
	{ HIDDEN, TREE_WALK_LEAVE },
	{ "lost+found", TREE_WALK_LEAVE },
	/* mounted while it runs; what lies beneath is nobody's */
	{ "dev", TREE_WALK_EMPTY },
	{ "proc", TREE_WALK_EMPTY },
	{ "run", TREE_WALK_EMPTY },
	{ "sys", TREE_WALK_EMPTY },
	{ "tmp", TREE_WALK_EMPTY },
	/* changes of shared folders, our log */
	{ "var/lib/bawn", TREE_WALK_LEAVE },
	{ "var/log/dockerd.log", TREE_WALK_LEAVE },
	/* who it is */
	{ "etc/ssh/ssh_host_*", TREE_WALK_LEAVE },
	{ "var/lib/dbus/machine-id", TREE_WALK_LEAVE },
	{ "var/lib/systemd/random-seed", TREE_WALK_LEAVE },
	{ "var/lib/systemd/credential.secret", TREE_WALK_LEAVE },
	/* made from our authority by update-ca-certificates */
	{ "etc/ssl/certs/bawn.pem", TREE_WALK_LEAVE },
};

static bool fits(const char *pattern, const char *path)
{
	size_t len = strlen(pattern);

	if (pattern[len - 1] == '*')
		return strncmp(path, pattern, len - 1) == 0;
	return strcmp(path, pattern) == 0;
}

enum tree_walk_choice saved_root_choose(void *ctx, const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (fits(rules[i].path, path))
			return rules[i].choice;
	return TREE_WALK_TAKE;
}

/*
 * Made for the mount: empty and root's. Those right below the root are every
 * system's own.
 */
static void remove_parents(const char *root, char *path)
{
	for (;;) {
		char *slash = strrchr(path, '/');
		struct stat st;

		if (!slash || (size_t)(slash - path) <= strlen(root))
			return;
		*slash = '\0';
		slash = strrchr(path, '/');
		if (!slash || (size_t)(slash - path) <= strlen(root) ||
		    lstat(path, &st) < 0 || st.st_uid != 0 || rmdir(path) < 0)
			return;
	}
}

/* Under a number that is free: the guest may have had a folder like ours. */
static int put_away(const char *root, const char *path, struct error *err)
{
	char target[PATH_MAX];

	for (unsigned i = 0; i < NUMBERS_MAX; i++) {
		if (text_format(target, sizeof(target), "%s/" HIDDEN "/%u",
				root, i) < 0)
			return error_set(err, ENAMETOOLONG, "%s", root);
		if (syscall(SYS_renameat2, AT_FDCWD, path, AT_FDCWD, target,
			    RENAME_NOREPLACE) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return error_set(err, errno, "%s", path);
}

static int hide(const char *root, const char *path, struct error *err)
{
	char full[PATH_MAX];
	AUTO_FREE char *real = NULL;

	if (path[0] != '/' || !path[1] ||
	    text_format(full, sizeof(full), "%s%s", root, path) < 0)
		return error_set(err, EINVAL, "a mount point");
	/* a link in a template leads to where the mount was */
	real = realpath(full, NULL);
	if (!real)
		return errno == ENOENT ? 0 : error_set(err, errno, "%s", path);
	if (put_away(root, real, err) < 0)
		return -1;
	remove_parents(root, real);
	return 0;
}

int saved_root_hide(const char *root, const char *paths, size_t len,
		    struct error *err)
{
	char folder[PATH_MAX];

	if (!len)
		return 0;
	if (paths[len - 1])
		return error_set(err, EINVAL, "mount points");
	if (text_format(folder, sizeof(folder), "%s/" HIDDEN, root) < 0)
		return error_set(err, ENAMETOOLONG, "%s", root);
	/* a file of the guest's there would hold up nothing but itself */
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return error_set(err, errno, HIDDEN);
	for (size_t at = 0; at < len; at += strlen(paths + at) + 1)
		if (hide(root, paths + at, err) < 0)
			return -1;
	return 0;
}

void saved_root_clean(const char *root, const char *pem)
{
	char path[PATH_MAX];

	trust_remove(root, pem);
	if (text_format(path, sizeof(path), "%s/etc/machine-id", root) == 0) {
		AUTO_CLOSE int fd =
			open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW |
					   O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
		(void)fd;
	}
}
