/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fileio_copy.c - copy a file with its holes
 *
 * Three ways, best first: a reflink costs nothing, copy_file_range() keeps the
 * bytes in the kernel, read and write always work.
 */
#include "base/fileio.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"

/* From linux/fs.h, which not every libc comes with. */
#ifndef FICLONE
#define FICLONE _IOW(0x94, 9, int)
#endif

enum {
	CHUNK = 256 * 1024,
};

static int copy_by_hand(int from, int to, off_t start, off_t end,
			struct error *err)
{
	AUTO_FREE uint8_t *chunk = xmalloc(CHUNK);

	while (start < end) {
		size_t want =
			end - start < CHUNK ? (size_t)(end - start) : CHUNK;
		ssize_t got = pread(from, chunk, want, start);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, errno, "read");
		if (!got) /* the file was cut meanwhile; the size says so */
			return 0;
		if (fileio_pwrite_all(to, chunk, (size_t)got, start, err) < 0)
			return -1;
		start += got;
	}
	return 0;
}

static int copy_range(int from, int to, off_t start, off_t end,
		      struct error *err)
{
	while (start < end) {
		off_t in = start, out = start;
		ssize_t moved = copy_file_range(from, &in, to, &out,
						(size_t)(end - start), 0);

		if (moved < 0 && errno == EINTR)
			continue;
		/*
		 * 0 before the end: some file systems (proc, old fuse) say so
		 * although there is more; reading decides.
		 */
		if (moved == 0 ||
		    (moved < 0 &&
		     (errno == EXDEV || errno == EINVAL || errno == ENOSYS ||
		      errno == EOPNOTSUPP || errno == EPERM || errno == EIO)))
			return copy_by_hand(from, to, start, end, err);
		if (moved < 0)
			return error_set(err, errno, "copy");
		start += moved;
	}
	return 0;
}

int fileio_copy_data(int from, int to, off_t size, struct error *err)
{
	off_t start, end;

	if (ftruncate(to, size) < 0)
		return error_set(err, errno, "truncate");

	for (off_t pos = 0; pos < size; pos = end) {
		start = lseek(from, pos, SEEK_DATA);
		if (start < 0 && errno == ENXIO) /* a hole up to the end */
			return 0;
		if (start < 0 && errno != EINVAL)
			return error_set(err, errno, "seek");
		/* A file system that knows no holes: all of it is data. */
		end = start < 0 ? size : lseek(from, start, SEEK_HOLE);
		if (start < 0)
			start = pos;
		if (end < 0)
			return error_set(err, errno, "seek");
		if (end > size)
			end = size;
		if (copy_range(from, to, start, end, err) < 0)
			return -1;
	}
	return 0;
}

int fileio_copy_sparse(int from, int to, struct error *err)
{
	struct stat st;

	if (fstat(from, &st) < 0)
		return error_set(err, errno, "stat");
	if (!S_ISREG(st.st_mode))
		return error_set(err, 0, "not a regular file");
	/* Empty first: what the target held would show through the holes. */
	if (ftruncate(to, 0) < 0)
		return error_set(err, errno, "truncate");
	if (ioctl(to, FICLONE, from) == 0)
		return 0;
	return fileio_copy_data(from, to, st.st_size, err);
}
