/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_hold.c - room on a disk that nobody else takes meanwhile
 */
#include "changes/apply_hold.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"

int apply_hold_take(struct apply_hold *hold, int root, uint64_t bytes,
		    struct error *err)
{
	AUTO_CLOSE int fd = -1;
	int result;

	if (!bytes || bytes > INT64_MAX)
		return 0;
	fd = openat(root, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		return 0;
	do {
		result = fallocate(fd, 0, 0, (off_t)bytes);
	} while (result < 0 && errno == EINTR);
	if (result < 0 && (errno == ENOSPC || errno == EDQUOT))
		return error_set(err, errno, "%llu KiB",
				 (unsigned long long)(bytes >> 10));
	if (result < 0)
		return 0;
	hold->fd = TAKE_FD(fd);
	hold->bytes = bytes;
	return 0;
}

void apply_hold_give(struct apply_hold *hold, uint64_t bytes)
{
	if (hold->fd < 0)
		return;
	hold->bytes -= bytes < hold->bytes ? bytes : hold->bytes;
	if (!hold->bytes || ftruncate(hold->fd, (off_t)hold->bytes) < 0)
		apply_hold_release(hold);
}

void apply_hold_release(struct apply_hold *hold)
{
	if (hold->fd >= 0)
		close(TAKE_FD(hold->fd));
}
