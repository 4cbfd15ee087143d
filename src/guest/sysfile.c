/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sysfile.c - one-line files of /proc, /sys and cgroups
 */
#include "guest/sysfile.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/own.h"

int sysfile_write(int dirfd, const char *path, const char *text)
{
	AUTO_CLOSE int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -1;
	n = write(fd, text, strlen(text));
	return n < 0 ? -1 : 0;
}

ssize_t sysfile_read(int dirfd, const char *path, char *text, size_t size)
{
	AUTO_CLOSE int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	size_t len = 0;

	text[0] = '\0';
	if (fd < 0)
		return -1;
	while (len < size - 1) {
		ssize_t n = read(fd, text + len, size - 1 - len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		if (n == 0)
			break;
		len += (size_t)n;
	}
	text[len] = '\0';
	return (ssize_t)len;
}
