/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_file.c - a template into an archive that appears as a whole
 *
 * Written without a name, so that a command that dies leaves nothing; where
 * the file system cannot do that, under a name beside it.
 */
#include "cli/template_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/progress_view.h"
#include "provision/template_push.h"

struct target {
	int fd;        /* owned */
	char *hidden;  /* owned: a name beside it */
	bool has_name; /* hidden is there */
};

static void target_release(struct target *target)
{
	if (target->has_name)
		unlink(target->hidden);
	if (target->fd >= 0)
		close(target->fd);
	free(target->hidden);
}
#define AUTO_TARGET __attribute__((cleanup(target_release)))

static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	if (!slash)
		return xstrdup(".");
	return slash == path ? xstrdup("/")
			     : xstrndup(path, (size_t)(slash - path));
}

int template_file_check(const char *path, struct error *err)
{
	AUTO_FREE char *folder = folder_of(path);
	struct stat st;

	if (stat(path, &st) == 0 && !S_ISREG(st.st_mode))
		return error_set(err, 0, "%s is not a file", path);
	if (access(folder, W_OK | X_OK) < 0)
		return error_set(err, errno, "%s", folder);
	return 0;
}

static int open_target(struct target *target, const char *path,
		       struct error *err)
{
	AUTO_FREE char *folder = folder_of(path);

	target->hidden = xasprintf("%s.XXXXXX", path);
	target->fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (target->fd >= 0)
		return 0;
	target->fd = mkostemp(target->hidden, O_CLOEXEC);
	target->has_name = target->fd >= 0;
	return target->fd >= 0 ? 0 : error_set(err, errno, "%s", path);
}

static int give_name(struct target *target, const char *path, struct error *err)
{
	char magic[40];

	if (!target->has_name) {
		text_format(magic, sizeof(magic), "/proc/self/fd/%d",
			    target->fd);
		/* a name that is free: link() replaces nothing */
		for (int i = 0; i < 100 && !target->has_name; i++) {
			text_format(target->hidden + strlen(path),
				    sizeof(".XXXXXX"), ".%06d", i);
			target->has_name =
				linkat(AT_FDCWD, magic, AT_FDCWD,
				       target->hidden, AT_SYMLINK_FOLLOW) == 0;
		}
		if (!target->has_name)
			return error_set(err, errno, "%s", path);
	}
	if (rename(target->hidden, path) < 0)
		return error_set(err, errno, "%s", path);
	target->has_name = false;
	return 0;
}

int template_file_write(const char *name, const char *path, struct error *err)
{
	AUTO_TARGET struct target target = { .fd = -1 };
	mode_t mask = umask(0);

	umask(mask);
	if (open_target(&target, path, err) < 0)
		return -1;
	if (template_save(name, target.fd, progress_view(), err) < 0)
		return -1;
	if (fchmod(target.fd, 0666 & ~mask) < 0)
		return error_set(err, errno, "%s", path);
	return give_name(&target, path, err);
}
