/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inode_map.c - inodes and how they were last seen
 */
#include "undo/inode_map.h"

#include <stdlib.h>

#include "base/mem.h"
#include "undo/place.h"

#define SLOTS_FIRST 256

static struct journal_file *find(const struct inode_map *map,
				 const struct journal_file *file)
{
	uint64_t hash = (file->ino ^ file->btime_ns << 7 ^ file->dev << 23) *
			0x9e3779b97f4a7c15ULL;
	size_t at = (hash >> 32) & (map->size - 1);

	while (map->slots[at].ino && !place_same_inode(&map->slots[at], file))
		at = (at + 1) & (map->size - 1);
	return &map->slots[at];
}

static void grow(struct inode_map *map)
{
	struct inode_map old = *map;

	map->size = old.size ? old.size * 2 : SLOTS_FIRST;
	map->slots = xcalloc(map->size, sizeof(*map->slots));
	for (size_t i = 0; i < old.size; i++) {
		if (old.slots[i].ino)
			*find(map, &old.slots[i]) = old.slots[i];
	}
	free(old.slots);
}

void inode_map_put(struct inode_map *map, const struct journal_file *file)
{
	struct journal_file *slot;

	if (!file->ino)
		return;
	if (map->count >= map->size / 4 * 3)
		grow(map);
	slot = find(map, file);
	map->count += !slot->ino;
	*slot = *file;
}

const struct journal_file *inode_map_get(const struct inode_map *map,
					 const struct journal_file *file)
{
	const struct journal_file *slot;

	if (!map->size || !file->ino)
		return NULL;
	slot = find(map, file);
	return slot->ino ? slot : NULL;
}

void inode_map_release(struct inode_map *map)
{
	free(map->slots);
	*map = (struct inode_map){ 0 };
}
