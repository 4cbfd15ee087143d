/* SPDX-License-Identifier: Apache-2.0 */
/*
 * folder_time.c - the time of a folder, kept over a crash
 */
#include "undo/folder_time.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/own.h"
#include "undo/journal.h"
#include "undo/place.h"
#include "undo/replay_file.h"

#define HELD "folder"

int folder_time_hold(int undo, int folder, struct journal_file *was)
{
	AUTO_CLOSE int fd = openat(
		undo, HELD,
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || file_know(folder, was) < 0)
		return -1;
	return write(fd, was, sizeof(*was)) == sizeof(*was) ? 0 : -1;
}

void folder_time_put_back(int undo, int folder, const struct journal_file *was)
{
	int code = errno;

	file_set_times(folder, was);
	unlinkat(undo, HELD, 0);
	errno = code;
}

void folder_time_settle(int undo, int folder)
{
	AUTO_CLOSE int fd = openat(
		undo, HELD, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct journal_file now, was;

	if (fd < 0)
		return;
	if (read(fd, &was, sizeof(was)) == sizeof(was) &&
	    file_know(folder, &now) == 0 && place_same_inode(&now, &was))
		file_set_times(folder, &was);
	unlinkat(undo, HELD, 0);
}
