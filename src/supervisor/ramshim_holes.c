/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ramshim_holes.c - preloaded into QEMU: memory for what a RAM file has nothing
 * of
 *
 * A guest that writes to a page of a private mapping for the first time has the
 * kernel fetch the page of the file, which of a hole is a new page of zeros in
 * the page cache, and copy it: two pages for one, and two to five times the
 * time. Nearly all of a fresh guest's memory is holes. Anonymous memory instead
 * of them is the same to the guest, and to a snapshot: what is written is
 * QEMU's own, what is not is the file's, where it is zeros.
 *
 * No huge pages: of two megabytes a guest that does little would use a few
 * pages, and each fork would have all of them, and each checkpoint copy them.
 */
#include "supervisor/ramshim_holes.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int map_hole(char *address, size_t size, int rights)
{
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	if (syscall(SYS_mmap, address, size, rights, flags, -1, 0) == -1)
		return -1;
	/* Where there are none it is refused. */
	(void)syscall(SYS_madvise, address, size, MADV_NOHUGEPAGE);
	return 0;
}

int holes_map(void *address, size_t size, int rights, int fd)
{
	const off_t page = sysconf(_SC_PAGESIZE), end = (off_t)size;
	off_t hole, data;

	for (off_t at = HOLES_HEAD_BYTES; at < end; at = data) {
		hole = lseek(fd, at, SEEK_HOLE);
		data = hole < 0 ? -1 : lseek(fd, hole, SEEK_DATA);
		if (data < 0 && errno != ENXIO)
			return 0; /* it does not tell: it has none */
		if (hole < 0)
			return 0; /* the file is shorter */
		if (data < 0 || data > end)
			data = end;
		/* A file system's blocks may be smaller than pages. */
		hole = (hole + page - 1) / page * page;
		if (data / page * page - hole < (off_t)HOLES_LENGTH_MIN)
			continue;
		if (map_hole((char *)address + hole,
			     (size_t)(data / page * page - hole), rights) < 0)
			return -1;
	}
	return 0;
}
