/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_index.h - where in a tar file the parts of images lie
 *
 * Only headers are read, and only what could belong to an image is kept: a
 * plain root file system of a million files leaves nothing here.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct archive_index;

struct archive_region {
	int fd; /* borrowed */
	uint64_t offset, size;
};

/*
 * Of an open, seekable file, without compression. A tar that cannot be read
 * further is one that ends there: whoever unpacks it will say what is wrong.
 */
struct archive_index *archive_index_new(int fd);
void archive_index_free(struct archive_index *index);
/* 0, or -1 when there is no such regular file; links are followed. */
int archive_index_find(const struct archive_index *index, const char *path,
		       struct archive_region *region);
