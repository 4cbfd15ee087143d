/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch_leftover.c - what a git that failed leaves in the repository
 */
#include "cli/fetch_leftover.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"

#define CHILDREN_BYTES (64u * 1024)
#define PATH_BYTES 64
#define WAIT_MS 60000
#define WRITER_FD (STDERR_FILENO + 1)

AUTO_DEFINE(dir, DIR *, closedir)

bool fetch_leftover_is(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && path[0] == '/' && strstr(path, "/objects/") &&
	       (text_starts(slash + 1, "tmp_pack_") ||
		text_starts(slash + 1, "tmp_obj_"));
}

/* The first of a process's files that is such a one. */
static bool look_at(struct fetch_leftover *left, pid_t pid)
{
	char folder[PATH_BYTES], path[PATH_MAX];
	AUTO(dir) DIR *dir = NULL;
	const struct dirent *entry;
	struct stat st;

	text_format(folder, sizeof(folder), "/proc/%d/fd", (int)pid);
	dir = opendir(folder);
	while (dir && (entry = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), entry->d_name, path,
					 sizeof(path) - 1);

		path[len > 0 ? len : 0] = '\0';
		if (!fetch_leftover_is(path) ||
		    fstatat(dirfd(dir), entry->d_name, &st, 0) < 0 ||
		    !S_ISREG(st.st_mode))
			continue;
		text_copy(left->path, sizeof(left->path), path);
		left->dev = st.st_dev;
		left->ino = st.st_ino;
		return true;
	}
	return false;
}

void fetch_leftover_look(struct fetch_leftover *left)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CHILDREN_BYTES);
	char path[PATH_BYTES], *at, *end;

	if (left->git < 0)
		return;
	text_format(path, sizeof(path), "/proc/%d/task/%d/children",
		    (int)left->git, (int)left->git);
	if (fileio_read(AT_FDCWD, path, &text, NULL) < 0)
		return;
	at = (char *)buffer_str(&text);
	for (long pid; (pid = strtol(at, &end, 10)) > 0 && end != at;
	     at = end) {
		AUTO_CLOSE int writer =
			(int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

		if (writer < 0 || !look_at(left, (pid_t)pid))
			continue;
		if (left->writer >= 0)
			close(left->writer);
		left->writer = TAKE_FD(writer);
		return;
	}
}

/* Nothing of what we have open may stay open for that long. */
static void keep_only(int fd)
{
	int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = 0; i <= STDERR_FILENO; i++)
		dup2(nowhere, i);
	dup2(fd, WRITER_FD);
	close_range(WRITER_FD + 1, ~0U, 0);
}

static _Noreturn void wait_and_remove(const struct fetch_leftover *left)
{
	struct pollfd writer = { .fd = WRITER_FD, .events = POLLIN };
	struct stat st;

	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	keep_only(left->writer);
	if (poll(&writer, 1, WAIT_MS) == 1 && lstat(left->path, &st) == 0 &&
	    st.st_dev == left->dev && st.st_ino == left->ino)
		unlink(left->path);
	_exit(0);
}

void fetch_leftover_remove(struct fetch_leftover *left)
{
	if (left->writer < 0)
		return;
	if (fork() == 0)
		wait_and_remove(left);
	close(TAKE_FD(left->writer));
}
