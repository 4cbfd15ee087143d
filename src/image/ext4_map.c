/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_map.c - which blocks an inode has
 *
 * Blocks are taken next-fit in runs as long as the free space allows, so that
 * most files are one extent and the image is written from front to back. Up to
 * four extents lie in the inode itself and are put there by hand; a deeper
 * tree is libext2fs's work.
 */
#include "image/ext4_writer_internal.h"

#include <errno.h>
#include <ext2fs/ext3_extents.h>

#include "base/error.h"
#include "base/mem.h"

#define EXTENT_BLOCKS_MAX 32768u /* what one extent can hold */
#define INLINE_EXTENTS 4

/* The next free run of at most want blocks; 0 when there is none. */
static uint32_t take_run(struct ext4_writer *writer, uint32_t want,
			 uint64_t *start)
{
	ext2_filsys fs = writer->fs;
	blk64_t last = ext2fs_blocks_count(fs->super) - 1;
	blk64_t first = fs->super->s_first_data_block, end, found;

	if (writer->next_block > last)
		writer->next_block = first;
	if (ext2fs_find_first_zero_block_bitmap2(
		    fs->block_map, writer->next_block, last, &found) != 0 &&
	    ext2fs_find_first_zero_block_bitmap2(fs->block_map, first, last,
						 &found) != 0)
		return 0;
	end = last - found < want ? last : found + want - 1;
	if (ext2fs_find_first_set_block_bitmap2(fs->block_map, found, end,
						&end) == 0)
		end--;
	*start = found;
	ext2fs_block_alloc_stats_range(fs, found, end - found + 1, +1);
	writer->next_block = end + 1;
	return (uint32_t)(end - found + 1);
}

static void append(struct ext4_map *map, uint32_t logical, uint64_t physical,
		   uint32_t len)
{
	struct ext4_extent *last =
		map->count ? &map->extents[map->count - 1] : NULL;

	if (last && last->logical + last->len == logical &&
	    last->physical + last->len == physical &&
	    len <= EXTENT_BLOCKS_MAX - last->len) {
		last->len += len;
		return;
	}
	if (map->count == map->capacity) {
		map->capacity = map->capacity ? map->capacity * 2 : 8;
		map->extents = xrealloc(map->extents,
					map->capacity * sizeof(*map->extents));
	}
	map->extents[map->count++] =
		(struct ext4_extent){ logical, len, physical };
}

int ext4_map_take(struct ext4_writer *writer, struct ext4_map *map,
		  uint32_t logical, uint32_t count, struct error *err)
{
	while (count > 0) {
		uint32_t want =
			count < EXTENT_BLOCKS_MAX ? count : EXTENT_BLOCKS_MAX;
		uint64_t start;
		uint32_t got = take_run(writer, want, &start);

		if (got == 0)
			return error_set(err, ENOSPC, "the image is full");
		append(map, logical, start, got);
		map->blocks += got;
		logical += got;
		count -= got;
	}
	return 0;
}

uint64_t ext4_map_find(const struct ext4_map *map, uint32_t logical,
		       uint32_t *run)
{
	/* Data comes in rising order: what is wanted is near the end. */
	size_t low = 0, high = map->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct ext4_extent *extent = &map->extents[middle];

		if (logical < extent->logical) {
			high = middle;
		} else if (logical - extent->logical >= extent->len) {
			low = middle + 1;
		} else {
			*run = extent->len - (logical - extent->logical);
			return extent->physical + (logical - extent->logical);
		}
	}
	return 0;
}

static void store_inline(const struct ext4_map *map,
			 struct ext2_inode_large *inode)
{
	struct ext3_extent_header *header = (void *)inode->i_block;
	struct ext3_extent *extent = EXT_FIRST_EXTENT(header);

	header->eh_magic = ext2fs_cpu_to_le16(EXT3_EXT_MAGIC);
	header->eh_entries = ext2fs_cpu_to_le16((uint16_t)map->count);
	header->eh_max = ext2fs_cpu_to_le16(INLINE_EXTENTS);
	for (size_t i = 0; i < map->count; i++, extent++) {
		const struct ext4_extent *from = &map->extents[i];

		extent->ee_block = ext2fs_cpu_to_le32(from->logical);
		extent->ee_len = ext2fs_cpu_to_le16((uint16_t)from->len);
		extent->ee_start = ext2fs_cpu_to_le32((uint32_t)from->physical);
		extent->ee_start_hi =
			ext2fs_cpu_to_le16((uint16_t)(from->physical >> 32));
	}
}

static int store_tree(struct ext4_writer *writer, const struct ext4_map *map,
		      ext2_ino_t ino, struct ext2_inode_large *inode,
		      struct error *err)
{
	ext2_extent_handle_t handle;
	errcode_t code = ext2fs_extent_open2(
		writer->fs, ino, (struct ext2_inode *)inode, &handle);

	if (code)
		return ext4_fail(err, code, "opening the extents");
	for (size_t i = 0; i < map->count && !code; i++) {
		struct ext2fs_extent extent = {
			.e_pblk = map->extents[i].physical,
			.e_lblk = map->extents[i].logical,
			.e_len = map->extents[i].len,
		};

		code = ext2fs_extent_insert(handle, EXT2_EXTENT_INSERT_AFTER,
					    &extent);
	}
	ext2fs_extent_free(handle);
	return code ? ext4_fail(err, code, "writing the extents") : 0;
}

int ext4_map_store(struct ext4_writer *writer, struct ext4_map *map,
		   ext2_ino_t ino, struct ext2_inode_large *inode,
		   struct error *err)
{
	errcode_t code = ext2fs_iblk_set(writer->fs, (struct ext2_inode *)inode,
					 map->blocks);

	if (code)
		return ext4_fail(err, code, "counting blocks");
	inode->i_flags |= EXT4_EXTENTS_FL;
	if (map->count <= INLINE_EXTENTS) {
		store_inline(map, inode);
		return 0;
	}
	return store_tree(writer, map, ino, inode, err);
}

void ext4_map_release(struct ext4_map *map)
{
	free(map->extents);
	*map = (struct ext4_map){ 0 };
}
