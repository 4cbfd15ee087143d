/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ralph_folder.c - the files of a loop in the workspace
 */
#include "loop/ralph_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"

#define TAKEN ".ralph-context.taken"
#define FOLDER_MODE 0755
#define FILE_MODE 0644
#define LOCK_TRIES 100

static int open_beneath(int folder, const char *path, int flags, mode_t mode)
{
	struct open_how how = {
		.flags = (uint64_t)(unsigned)flags | O_CLOEXEC | O_NOFOLLOW |
			 O_NONBLOCK,
		.mode = mode,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS |
			   RESOLVE_NO_MAGICLINKS,
	};

	return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

int ralph_workspace_open(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? error_set(err, errno, "%s", path) : fd;
}

/* Root works for whom the workspace belongs to. */
static int give_away(int workspace, int fd)
{
	struct stat st;

	if (geteuid() != 0)
		return 0;
	return fstat(workspace, &st) < 0 ? -1
					 : fchown(fd, st.st_uid, st.st_gid);
}

int ralph_folder_open(int workspace, struct error *err)
{
	bool made = mkdirat(workspace, RALPH_FOLDER, FOLDER_MODE) == 0;
	int fd;

	if (!made && errno != EEXIST)
		return error_set(err, errno, RALPH_FOLDER);
	fd = open_beneath(workspace, RALPH_FOLDER, O_RDONLY | O_DIRECTORY, 0);
	if (fd < 0)
		return error_set(err, errno, RALPH_FOLDER);
	if (made && give_away(workspace, fd) < 0) {
		error_set(err, errno, RALPH_FOLDER);
		close(fd);
		return -1;
	}
	return fd;
}

/* A regular file, and no more of it than there is room for. */
static int read_regular(int fd, struct buffer *out, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat");
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "not a regular file");
	return fileio_read_fd(fd, out, err);
}

int ralph_read(int workspace, const char *path, struct buffer *out,
	       struct error *err)
{
	AUTO_CLOSE int fd = open_beneath(workspace, path, O_RDONLY, 0);

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return error_set(err, errno, "%s", path);
	if (read_regular(fd, out, err) < 0)
		return error_prefix(err, "%s", path);
	return 1;
}

int ralph_write(int workspace, const char *name, const void *bytes, size_t len,
		struct error *err)
{
	AUTO_CLOSE int folder = ralph_folder_open(workspace, err);
	AUTO_CLOSE int fd = -1;
	char temporary[64];

	if (folder < 0)
		return -1;
	(void)text_format(temporary, sizeof(temporary), ".tmp-%d-%ld",
			  (int)getpid(), (long)time(NULL));
	(void)unlinkat(folder, temporary, 0);
	fd = openat(folder, temporary,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    FILE_MODE);
	if (fd < 0)
		return error_set(err, errno, RALPH_FOLDER "/%s", name);
	if (give_away(workspace, fd) == 0 &&
	    fileio_write_all(fd, bytes, len, err) == 0 &&
	    renameat(folder, temporary, folder, name) == 0)
		return 0;
	error_set(err, errno, RALPH_FOLDER "/%s", name);
	(void)unlinkat(folder, temporary, 0);
	return -1;
}

/* Waits for another command, not for ever: a guest has no such lock. */
static int lock(int fd)
{
	struct timespec nap = { .tv_nsec = 10000000 };

	for (int i = 0; i < LOCK_TRIES; i++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return 0;
		nanosleep(&nap, NULL);
	}
	return -1;
}

/* 1: added; 0: it was taken away meanwhile. */
static int add_line(int workspace, int folder, const char *text,
		    struct error *err)
{
	AUTO_CLOSE int fd =
		open_beneath(folder, RALPH_CONTEXT,
			     O_WRONLY | O_APPEND | O_CREAT, FILE_MODE);
	struct stat here, there;

	if (fd < 0 || fstat(fd, &here) < 0)
		return error_set(err, errno, RALPH_CONTEXT);
	if (!S_ISREG(here.st_mode) || here.st_nlink > 1)
		return error_set(err, 0, RALPH_CONTEXT " is no regular file");
	if ((size_t)here.st_size + strlen(text) + 1 > RALPH_CONTEXT_MAX)
		return error_set(err, EFBIG, RALPH_CONTEXT);
	if (lock(fd) < 0)
		return error_set(err, EWOULDBLOCK, RALPH_CONTEXT);
	if (fstatat(folder, RALPH_CONTEXT, &there, AT_SYMLINK_NOFOLLOW) < 0 ||
	    there.st_ino != here.st_ino || there.st_dev != here.st_dev)
		return 0;
	if (!here.st_size && give_away(workspace, fd) < 0)
		return error_set(err, errno, RALPH_CONTEXT);
	if (fileio_write_all(fd, text, strlen(text), err) < 0 ||
	    fileio_write_all(fd, "\n", 1, err) < 0)
		return -1;
	return 1;
}

int ralph_add_context(int workspace, const char *text, struct error *err)
{
	AUTO_CLOSE int folder = ralph_folder_open(workspace, err);
	int added = 0;

	if (folder < 0)
		return -1;
	for (int i = 0; i < LOCK_TRIES && !added; i++)
		added = add_line(workspace, folder, text, err);
	if (!added)
		return error_set(err, EAGAIN, RALPH_CONTEXT);
	return added < 0 ? -1 : 0;
}

int ralph_take_context(int workspace, struct buffer *out, struct error *err)
{
	AUTO_CLOSE int folder = open_beneath(workspace, RALPH_FOLDER,
					     O_RDONLY | O_DIRECTORY, 0);
	AUTO_CLOSE int fd = -1;
	int result;

	if (folder < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (folder < 0)
		return error_set(err, errno, RALPH_FOLDER);
	if (renameat(folder, RALPH_CONTEXT, folder, TAKEN) < 0)
		return errno == ENOENT ? 0
				       : error_set(err, errno, RALPH_CONTEXT);
	fd = open_beneath(folder, TAKEN, O_RDONLY, 0);
	if (fd < 0)
		result = error_set(err, errno, RALPH_CONTEXT);
	else if (lock(fd) < 0)
		result = error_set(err, EWOULDBLOCK, RALPH_CONTEXT);
	else
		result = read_regular(fd, out, err);
	(void)unlinkat(folder, TAKEN, 0);
	return result < 0 ? -1 : out->len > 0;
}

int ralph_clear_context(int workspace, struct error *err)
{
	AUTO_CLOSE int folder = open_beneath(workspace, RALPH_FOLDER,
					     O_RDONLY | O_DIRECTORY, 0);

	if (folder >= 0 && unlinkat(folder, RALPH_CONTEXT, 0) < 0 &&
	    errno != ENOENT)
		return error_set(err, errno, RALPH_CONTEXT);
	return 0;
}
