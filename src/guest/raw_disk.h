/* SPDX-License-Identifier: Apache-2.0 */
/*
 * raw_disk.h - files of the root, read past their file system
 *
 * To an emulated machine every request to its disk is dear, and small files
 * need one each. Here the kernel only says where a file lies; its bytes come
 * from large pieces of the disk, in which its neighbours are, too. Right as
 * long as nobody writes to the root: for the machine that saves a copy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fiemap_extent;

/* Before /dev and /sys are out of sight. Without it files are just read. */
void raw_disk_open(void);
/* What was written until now is on the disk. */
void raw_disk_begin(void);
/*
 * For tree_walk(): some bytes of a file from offset at on; its first call for a
 * file has 0. As pread().
 */
ssize_t raw_disk_read(void *ctx, int fd, uint64_t at, void *bytes, size_t len);

/*
 * Where the byte at is: its offset on the disk, or a hole. len is what lies
 * there without a break, at most as much as was asked for. Pure.
 */
bool raw_disk_place(const struct fiemap_extent *extents, size_t count,
		    uint64_t at, uint64_t *offset, size_t *len);
