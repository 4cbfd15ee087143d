/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_disk.c - files of the root, read past their file system
 */
#include "guest/raw_disk.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "guest/rootfs.h"
#include "guest/sysfile.h"

#define PIECE_BYTES (1u << 20)
#define PIECES_MAX 128u
/* Of the memory: the rest is for what the kernel keeps of folders. */
#define SHARE_OF_MEMORY 8
#define ALIGNMENT 4096u
#define EXTENTS_MAX 64u
/* Inodes of neighbours come with the first of them. */
#define INODE_BLOCKS "/sys/fs/ext4/vda/inode_readahead_blks"
#define NO_PIECE UINT64_MAX

static struct {
	int fd;
	dev_t device;
	uint8_t *bytes; /* pieces, one after the other */
	uint64_t number[PIECES_MAX];
	unsigned pieces;
} disk = { .fd = -1 };

/* The file that is being read. */
static struct {
	struct fiemap head;
	struct fiemap_extent extents[EXTENTS_MAX];
} map;
static bool mapped;

void raw_disk_open(void)
{
	struct sysinfo memory;
	struct stat st;

	disk.fd = open(ROOTFS_DEVICE, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (disk.fd < 0 || fstat(disk.fd, &st) < 0 || sysinfo(&memory) < 0)
		return;
	disk.device = st.st_rdev;
	disk.pieces = PIECES_MAX;
	while (disk.pieces > 1 &&
	       (uint64_t)disk.pieces * PIECE_BYTES >
		       memory.totalram * memory.mem_unit / SHARE_OF_MEMORY)
		disk.pieces /= 2;
	disk.bytes =
		aligned_alloc(ALIGNMENT, (size_t)disk.pieces * PIECE_BYTES);
	for (unsigned i = 0; i < disk.pieces; i++)
		disk.number[i] = NO_PIECE;
	(void)sysfile_write(AT_FDCWD, INODE_BLOCKS, "1024");
}

void raw_disk_begin(void)
{
	sync();
}

/* False for one that has to be read as every file is. */
static bool find_extents(int fd)
{
	struct stat st;

	if (disk.fd < 0 || !disk.bytes || fstat(fd, &st) < 0 ||
	    st.st_dev != disk.device)
		return false;
	memset(&map.head, 0, sizeof(map.head));
	map.head.fm_length = FIEMAP_MAX_OFFSET;
	map.head.fm_extent_count = EXTENTS_MAX;
	if (ioctl(fd, FS_IOC_FIEMAP, &map.head) < 0)
		return false;
	for (unsigned i = 0; i < map.head.fm_mapped_extents; i++)
		if (map.extents[i].fe_flags &
		    ~(FIEMAP_EXTENT_LAST | FIEMAP_EXTENT_MERGED))
			return false;
	/* the last of them was told, or it has none */
	return !map.head.fm_mapped_extents ||
	       map.extents[map.head.fm_mapped_extents - 1].fe_flags &
		       FIEMAP_EXTENT_LAST;
}

bool raw_disk_place(const struct fiemap_extent *extents, size_t count,
		    uint64_t at, uint64_t *offset, size_t *len)
{
	for (size_t i = 0; i < count; i++) {
		const struct fiemap_extent *one = &extents[i];
		bool inside = at >= one->fe_logical;
		uint64_t left;

		if (inside && at - one->fe_logical >= one->fe_length)
			continue;
		left = inside ? one->fe_length - (at - one->fe_logical)
			      : one->fe_logical - at;
		if (*len > left)
			*len = (size_t)left;
		if (inside)
			*offset = one->fe_physical + (at - one->fe_logical);
		return inside;
	}
	return false;
}

static const uint8_t *piece_of(uint64_t offset)
{
	uint64_t number = offset / PIECE_BYTES;
	unsigned slot = (unsigned)(number % disk.pieces);
	uint8_t *bytes = disk.bytes + (size_t)slot * PIECE_BYTES;

	if (disk.number[slot] == number)
		return bytes;
	disk.number[slot] = NO_PIECE;
	if (pread(disk.fd, bytes, PIECE_BYTES, (off_t)(number * PIECE_BYTES)) !=
	    PIECE_BYTES)
		return NULL;
	disk.number[slot] = number;
	return bytes;
}

ssize_t raw_disk_read(void *ctx, int fd, uint64_t at, void *bytes, size_t len)
{
	const uint8_t *piece;
	uint64_t offset = 0;
	size_t rest;

	if (at == 0)
		mapped = find_extents(fd);
	if (!mapped)
		return pread(fd, bytes, len, (off_t)at);
	if (!raw_disk_place(map.extents, map.head.fm_mapped_extents, at,
			    &offset, &len)) {
		memset(bytes, 0, len);
		return (ssize_t)len;
	}
	piece = piece_of(offset);
	if (!piece) /* the disk's last, or one that cannot be read */
		return pread(fd, bytes, len, (off_t)at);
	rest = PIECE_BYTES - (size_t)(offset % PIECE_BYTES);
	if (len > rest)
		len = rest;
	memcpy(bytes, piece + offset % PIECE_BYTES, len);
	return (ssize_t)len;
}
