/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_dir.c - writes the directories, after the last entry has come
 */
#include "image/ext4_writer_internal.h"

#include "base/error.h"
#include "base/mem.h"

#define TAIL_BYTES 12
#define LINKS_MAX 65000
#define LOST_FOUND_BLOCKS 4 /* e2fsck must not need to allocate there */

struct folder {
	struct ext4_node *node;
	uint8_t *blocks; /* owned */
	size_t count;
	bool indexed;
};

static ext2_ino_t parent_ino(const struct ext4_node *node)
{
	return node->parent ? node->parent->ino : node->ino;
}

static size_t linear_bytes(const struct ext4_node *node)
{
	size_t bytes = 24; /* "." and ".." */

	LIST_FOR_EACH(link, &node->children)
		bytes += ext4_dirent_size(
			LIST_ENTRY(link, struct ext4_node, siblings)->name_len);
	return bytes;
}

static void build_linear(ext2_filsys fs, struct folder *folder)
{
	struct ext4_node *node = folder->node;
	size_t offset, last = 12;

	folder->count =
		node->ino == EXT4_LOST_FOUND_INO ? LOST_FOUND_BLOCKS : 1;
	folder->blocks = xcalloc(folder->count, EXT4_BLOCK);
	ext4_dirent_put(folder->blocks, 0, node->ino, ".", 1, EXT2_FT_DIR);
	offset = ext4_dirent_put(folder->blocks, 12, parent_ino(node), "..", 2,
				 EXT2_FT_DIR);
	LIST_FOR_EACH(link, &node->children) {
		struct ext4_node *child =
			LIST_ENTRY(link, struct ext4_node, siblings);

		last = offset;
		offset = ext4_dirent_put(folder->blocks, offset, child->ino,
					 child->name, child->name_len,
					 child->type);
	}
	ext4_dirent_close(fs, folder->blocks, last);
	for (size_t i = 1; i < folder->count; i++)
		ext4_dirent_close(fs, folder->blocks + i * EXT4_BLOCK, 0);
}

static int build_indexed(ext2_filsys fs, struct folder *folder,
			 struct error *err)
{
	struct ext4_node *node = folder->node;
	AUTO_FREE struct ext4_name *names =
		xcalloc(node->child_count, sizeof(*names));
	size_t n = 0;

	LIST_FOR_EACH(link, &node->children) {
		struct ext4_node *child =
			LIST_ENTRY(link, struct ext4_node, siblings);

		names[n++] = (struct ext4_name){
			.name = child->name,
			.ino = child->ino,
			.len = child->name_len,
			.type = child->type,
		};
	}
	folder->indexed = true;
	return ext4_htree_build(fs, node->ino, parent_ino(node), names, n,
				&folder->blocks, &folder->count, err);
}

static int write_blocks(struct ext4_writer *writer, const struct folder *folder,
			const struct ext4_map *map, struct error *err)
{
	for (size_t i = 0; i < folder->count; i++) {
		uint32_t run;
		errcode_t code = ext2fs_write_dir_block4(
			writer->fs, ext4_map_find(map, (uint32_t)i, &run),
			folder->blocks + i * EXT4_BLOCK, 0, folder->node->ino);

		if (code)
			return ext4_fail(err, code, "writing a folder");
	}
	return 0;
}

static int write_folder(struct ext4_writer *writer, struct folder *folder,
			struct ext4_map *map, struct error *err)
{
	struct ext4_node *node = folder->node;
	struct ext2_inode_large inode;
	uint64_t bytes = (uint64_t)folder->count * EXT4_BLOCK;

	if (ext4_map_take(writer, map, 0, (uint32_t)folder->count, err) < 0 ||
	    ext4_inode_read(writer, node->ino, &inode, err) < 0)
		return -1;
	memset(inode.i_block, 0, sizeof(inode.i_block));
	/* A block of attributes may already be counted. */
	map->blocks += ext2fs_get_stat_i_blocks(writer->fs,
						(struct ext2_inode *)&inode) /
		       (EXT4_BLOCK / 512);
	inode.i_links_count = node->subdir_count + 2 >= LINKS_MAX
				      ? 1
				      : (uint16_t)(node->subdir_count + 2);
	inode.i_flags |= folder->indexed ? EXT2_INDEX_FL : 0;
	if (ext2fs_inode_size_set(writer->fs, (struct ext2_inode *)&inode,
				  (ext2_off64_t)bytes) != 0)
		return error_set(err, 0, "a folder is too large");
	if (ext4_map_store(writer, map, node->ino, &inode, err) < 0 ||
	    ext4_inode_write(writer, node->ino, &inode, err) < 0)
		return -1;
	return write_blocks(writer, folder, map, err);
}

int ext4_dir_write_all(struct ext4_writer *writer, struct error *err)
{
	LIST_FOR_EACH(link, &writer->dirs) {
		struct folder folder = {
			.node = LIST_ENTRY(link, struct ext4_node, dirs)
		};
		struct ext4_map map = { 0 };
		int result = 0;

		if (linear_bytes(folder.node) <= EXT4_BLOCK - TAIL_BYTES)
			build_linear(writer->fs, &folder);
		else
			result = build_indexed(writer->fs, &folder, err);
		if (result == 0)
			result = write_folder(writer, &folder, &map, err);
		ext4_map_release(&map);
		free(folder.blocks);
		if (result < 0)
			return -1;
	}
	return 0;
}
