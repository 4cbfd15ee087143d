/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nodes_file.c - bawn-files' table of nodes, kept with a snapshot
 */
#include "launch/nodes_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"

#define NEW_FILE NODES_FILE ".new"
#define COPY_BYTES 65536
/* A page, so that holes of the one are holes of the other. */
#define HEAD_BYTES 4096

/* The table is large and mostly holes. */
static int copy(int from, off_t at, int to, off_t shift, struct error *err)
{
	AUTO_FREE char *bytes = xmalloc(COPY_BYTES);
	off_t end = lseek(from, 0, SEEK_END);

	if (end < 0 || end > (off_t)NODES_BYTES_MAX)
		return error_set(err, EFBIG, NODES_FILE);
	while (at < end) {
		off_t data = lseek(from, at, SEEK_DATA), hole;
		ssize_t n;

		if (data < 0)
			break;
		hole = lseek(from, data, SEEK_HOLE);
		if (hole - data > COPY_BYTES)
			hole = data + COPY_BYTES;
		n = pread(from, bytes, (size_t)(hole - data), data);
		if (n <= 0)
			return error_set(err, n < 0 ? errno : EIO, NODES_FILE);
		if (fileio_pwrite_all(to, bytes, (size_t)n, data + shift, err) <
		    0)
			return -1;
		at = data + n;
	}
	return ftruncate(to, end + shift) < 0
		       ? error_set(err, errno, NODES_FILE)
		       : 0;
}

int nodes_file_save(int folder, int memory,
		    const uint8_t marker[NODES_MARKER_BYTES], struct error *err)
{
	AUTO_CLOSE int fd = openat(
		folder, NEW_FILE,
		O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return error_set(err, errno, NODES_FILE);
	if (copy(memory, 0, fd, HEAD_BYTES, err) < 0 ||
	    fileio_pwrite_all(fd, marker, NODES_MARKER_BYTES, 0, err) < 0)
		return -1;
	if (renameat(folder, NEW_FILE, folder, NODES_FILE) < 0)
		return error_set(err, errno, NODES_FILE);
	return 0;
}

int nodes_file_take(int folder, int memory,
		    const uint8_t marker[NODES_MARKER_BYTES], struct error *err)
{
	AUTO_CLOSE int fd =
		openat(folder, NODES_FILE,
		       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	uint8_t found[NODES_MARKER_BYTES];

	if (fd < 0)
		return errno == ENOENT ? 0 : error_set(err, errno, NODES_FILE);
	unlinkat(folder, NODES_FILE, 0);
	if (pread(fd, found, sizeof(found), 0) != (ssize_t)sizeof(found) ||
	    memcmp(found, marker, sizeof(found)) != 0)
		return 0;
	return copy(fd, HEAD_BYTES, memory, -HEAD_BYTES, err);
}
