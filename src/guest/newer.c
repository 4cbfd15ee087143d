/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newer.c - which files changed since a moment
 */
#include "guest/newer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"

#define DEPTH_MAX 64 /* each holds a descriptor */
#define OUT_MAX (4u << 20)
#define FOLDER_FLAGS \
	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
#define GIT ".git"
#define GIT_LOG GIT "/logs/HEAD"

AUTO_DEFINE(dir, DIR *, closedir)

struct walk {
	uint64_t since;
	dev_t device;
	struct buffer *out;
	char path[PATH_MAX];
	unsigned depth, visits, found;
};

static int walk_folder(struct walk *walk, int parent, const char *name,
		       size_t len);

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000u + (uint64_t)time->tv_nsec;
}

/* -1: enough was found. */
static int note(struct walk *walk)
{
	if (buffer_append(walk->out, walk->path, strlen(walk->path) + 1) < 0)
		return -1;
	return ++walk->found < NEWER_PATHS_MAX ? 0 : -1;
}

static bool is_new(const struct walk *walk, const struct stat *st)
{
	return nanoseconds(&st->st_ctim) > walk->since;
}

static int walk_git(struct walk *walk, int folder, size_t len)
{
	struct stat st;

	if (fstatat(folder, GIT_LOG, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || !is_new(walk, &st))
		return 0;
	if (text_format(walk->path + len, sizeof(walk->path) - len, "%s",
			GIT_LOG) < 0)
		return 0;
	return note(walk);
}

static int walk_entry(struct walk *walk, int folder, const char *name,
		      size_t len)
{
	struct stat st;

	if (!strcmp(name, ".") || !strcmp(name, ".."))
		return 0;
	if (++walk->visits > NEWER_VISITS_MAX)
		return -1;
	if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    st.st_dev != walk->device ||
	    text_format(walk->path + len, sizeof(walk->path) - len, "%s",
			name) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return is_new(walk, &st) ? note(walk) : 0;
	if (!strcmp(name, GIT))
		return walk_git(walk, folder, len);
	return walk_folder(walk, folder, name, len + strlen(name));
}

static int walk_folder(struct walk *walk, int parent, const char *name,
		       size_t len)
{
	int fd = openat(parent, name, FOLDER_FLAGS);
	AUTO(dir) DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	int enough = 0;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return 0; /* gone meanwhile */
	}
	if (walk->depth >= DEPTH_MAX || len + 2 > sizeof(walk->path))
		return 0;
	walk->depth++;
	if (len)
		walk->path[len++] = '/';
	while (!enough && (entry = readdir(dir)))
		enough = walk_entry(walk, fd, entry->d_name, len);
	walk->depth--;
	return enough;
}

int newer_list(int folder, uint64_t since, int out, struct error *err)
{
	AUTO_BUFFER struct buffer bytes = BUFFER_INIT(OUT_MAX);
	struct walk walk = { .since = since, .out = &bytes };
	struct timespec now;
	struct stat st;

	/* the clock that file systems use */
	if (clock_gettime(CLOCK_REALTIME_COARSE, &now) < 0 ||
	    fstat(folder, &st) < 0)
		return error_set(err, errno, "folder");
	walk.device = st.st_dev;
	if (buffer_printf(&bytes, "%llu",
			  (unsigned long long)nanoseconds(&now)) < 0 ||
	    buffer_append(&bytes, "", 1) < 0)
		return error_set(err, ENOMEM, "list");
	(void)walk_folder(&walk, folder, ".", 0);
	return fileio_write_all(out, bytes.data, bytes.len, err);
}
