/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inode_map.h - inodes and how they were last seen
 */
#pragma once

#include <stddef.h>

#include "undo/journal.h"

struct inode_map {
	struct journal_file *slots; /* owned; ino 0: free */
	size_t size, count;
};

void inode_map_put(struct inode_map *map, const struct journal_file *file);
/* NULL when it is not there; valid until the next put. */
const struct journal_file *inode_map_get(const struct inode_map *map,
					 const struct journal_file *file);
void inode_map_release(struct inode_map *map);
