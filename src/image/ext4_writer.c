/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_writer.c - a new ext4 image, filled entry by entry, without a mount
 */
#include "image/ext4_writer_internal.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"

#define FAST_LINK_MAX 59 /* what fits into i_block with its NUL */
#define LINK_TARGET_MAX 4095
#define HARD_LINKS_MAX 65000

struct ext4_writer *ext4_writer_new(int fd, uint64_t bytes, const char *label,
				    struct error *err)
{
	struct ext4_writer *writer;

	if (bytes < EXT4_WRITER_MIN_BYTES || bytes > EXT4_WRITER_MAX_BYTES) {
		error_set(err, 0, "the image's size must be 16 MiB to 1 TiB");
		return NULL;
	}
	bytes -= bytes % EXT4_BLOCK;
	writer = xcalloc(1, sizeof(*writer));
	writer->store = block_store_new(fd, bytes);
	list_init(&writer->dirs);
	writer->next_ino = EXT4_LOST_FOUND_INO;
	if (ext4_format(writer, bytes, label, err) < 0 ||
	    ext4_tree_init(writer, err) < 0) {
		ext4_writer_free(writer);
		return NULL;
	}
	return writer;
}

void ext4_writer_free(struct ext4_writer *writer)
{
	if (!writer)
		return;
	ext4_tree_release(writer);
	ext4_map_release(&writer->file.map);
	if (writer->fs)
		ext2fs_free(writer->fs);
	block_store_free(writer->store);
	free(writer);
}

static int type_of(uint32_t mode, uint8_t *type, struct error *err)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		*type = EXT2_FT_REG_FILE;
		return 0;
	case S_IFDIR:
		*type = EXT2_FT_DIR;
		return 0;
	case S_IFLNK:
		*type = EXT2_FT_SYMLINK;
		return 0;
	case S_IFCHR:
		*type = EXT2_FT_CHRDEV;
		return 0;
	case S_IFBLK:
		*type = EXT2_FT_BLKDEV;
		return 0;
	case S_IFIFO:
		*type = EXT2_FT_FIFO;
		return 0;
	case S_IFSOCK:
		*type = EXT2_FT_SOCK;
		return 0;
	}
	return error_set(err, 0, "its type is unknown");
}

/* The name and an inode for it; attributes are the caller's next step. */
static struct ext4_node *claim(struct ext4_writer *writer,
			       const struct ext4_entry *entry,
			       struct error *err)
{
	struct ext4_node *node;
	uint8_t type = EXT2_FT_UNKNOWN;

	if (writer->file.open) {
		error_set(err, 0, "a file is still being written");
		return NULL;
	}
	if (type_of(entry->attr.mode, &type, err) < 0)
		return NULL;
	node = ext4_tree_make(writer, entry->path, type, err);
	if (!node)
		return NULL;
	if (!node->ino) {
		if (ext4_inode_take(writer, type == EXT2_FT_DIR, &node->ino,
				    err) < 0)
			return NULL;
		writer->stats.files++;
	} else if (ext4_xattr_clear(writer, node->ino, err) < 0) {
		return NULL;
	}
	return node;
}

static int put_slow_link(struct ext4_writer *writer, ext2_ino_t ino,
			 const char *target, size_t len,
			 struct ext2_inode_large *inode, struct error *err)
{
	struct ext4_map map = { 0 };
	int result = ext4_map_take(writer, &map, 0, 1, err);

	if (result == 0)
		result = block_store_data(writer->store,
					  map.extents[0].physical * EXT4_BLOCK,
					  target, len, err);
	if (result == 0)
		result = ext4_map_store(writer, &map, ino, inode, err);
	ext4_map_release(&map);
	return result;
}

static int put_link(struct ext4_writer *writer, ext2_ino_t ino,
		    const char *target, struct ext2_inode_large *inode,
		    struct error *err)
{
	size_t len = target ? strlen(target) : 0;

	if (len == 0 || len > LINK_TARGET_MAX)
		return error_set(err, 0,
				 len ? "its target is too long"
				     : "its target is empty");
	inode->i_size = (uint32_t)len;
	if (len > FAST_LINK_MAX)
		return put_slow_link(writer, ino, target, len, inode, err);
	memcpy(inode->i_block, target, len);
	return 0;
}

int ext4_writer_add(struct ext4_writer *writer, const struct ext4_entry *entry,
		    struct error *err)
{
	struct ext2_inode_large inode;
	struct ext4_node *node = claim(writer, entry, err);
	ext2_ino_t ino;

	if (!node)
		return -1;
	ino = node->ino;
	ext4_inode_fill(&inode, &entry->attr);
	if (S_ISLNK(entry->attr.mode)) {
		if (put_link(writer, ino, entry->target, &inode, err) < 0)
			return -1;
		ext4_tree_keep_target(writer, node, entry->target);
	}
	if (S_ISREG(entry->attr.mode)) {
		struct ext4_map none = { 0 };

		if (ext4_map_store(writer, &none, ino, &inode, err) < 0)
			return -1;
	}
	if (ext4_inode_write(writer, ino, &inode, err) < 0)
		return -1;
	return ext4_xattr_write(writer, ino, entry, err);
}

int ext4_writer_link(struct ext4_writer *writer, const char *path,
		     const char *target, struct error *err)
{
	struct ext4_node *to = ext4_path_find(writer, target), *node;
	struct ext2_inode_large inode;
	ext2_ino_t ino;
	uint8_t type;

	if (!to)
		return error_set(err, 0,
				 "the target of the hard link is not "
				 "in the archive before it");
	if (to->type == EXT2_FT_DIR)
		return error_set(err, 0, "it is a hard link to a folder");
	if (ext4_path_find(writer, path) == to)
		return 0;
	ino = to->ino;
	type = to->type;
	if (ext4_inode_read(writer, ino, &inode, err) < 0)
		return -1;
	if (inode.i_links_count >= HARD_LINKS_MAX)
		return error_set(err, 0, "the file has too many hard links");
	/* Counted first: making the name may remove the target's own name. */
	inode.i_links_count++;
	if (ext4_inode_write(writer, ino, &inode, err) < 0)
		return -1;
	node = ext4_tree_make(writer, path, type, err);
	if (!node)
		return -1;
	node->ino = ino;
	return 0;
}

void ext4_writer_begin_layer(struct ext4_writer *writer)
{
	writer->follows = true;
	writer->layer++;
}

int ext4_writer_whiteout(struct ext4_writer *writer, const char *path,
			 struct error *err)
{
	struct ext4_node *node = ext4_path_find(writer, path);

	if (!node || node->ino == EXT4_LOST_FOUND_INO)
		return 0;
	if (node->layer == writer->layer || !node->parent)
		return ext4_tree_remove_lower(writer, node, err);
	return ext4_tree_remove(writer, node, err);
}

int ext4_writer_opaque(struct ext4_writer *writer, const char *path,
		       struct error *err)
{
	struct ext4_walk walk;

	if (ext4_path_walk(writer, path, EXT4_WALK_FIND, &walk, err) < 0)
		return -1;
	return walk.parent ? ext4_tree_remove_lower(writer, walk.parent, err)
			   : 0;
}

int ext4_writer_file_begin(struct ext4_writer *writer,
			   const struct ext4_entry *entry, uint64_t size,
			   enum ext4_layout layout, struct error *err)
{
	struct ext4_file *file = &writer->file;
	uint64_t blocks = size / EXT4_BLOCK + (size % EXT4_BLOCK != 0);
	struct ext4_node *node;

	if (blocks > ext2fs_blocks_count(writer->fs->super))
		return error_set(err, ENOSPC,
				 "it is larger than the whole image");
	if (layout == EXT4_DENSE &&
	    blocks > ext2fs_free_blocks_count(writer->fs->super))
		return error_set(err, ENOSPC, "the image has no room for it");
	node = claim(writer, entry, err);
	if (!node)
		return -1;
	file->ino = node->ino;
	ext4_inode_fill(&file->inode, &entry->attr);
	if (ext2fs_inode_size_set(writer->fs, (struct ext2_inode *)&file->inode,
				  (ext2_off64_t)size) != 0)
		return error_set(err, 0, "it is too large");
	if (entry->xattr_count) {
		/* They may take a block, which the inode then counts. */
		if (ext4_inode_write(writer, file->ino, &file->inode, err) <
			    0 ||
		    ext4_xattr_write(writer, file->ino, entry, err) < 0 ||
		    ext4_inode_read(writer, file->ino, &file->inode, err) < 0)
			return -1;
		file->map.blocks =
			ext2fs_get_stat_i_blocks(
				writer->fs, (struct ext2_inode *)&file->inode) /
			(EXT4_BLOCK / 512);
	}
	file->open = true;
	file->size = size;
	file->layout = layout;
	if (layout == EXT4_DENSE)
		return ext4_map_take(writer, &file->map, 0, (uint32_t)blocks,
				     err);
	return 0;
}

static int put_piece(struct ext4_writer *writer, uint64_t offset,
		     const uint8_t *bytes, size_t *len, struct error *err)
{
	struct ext4_file *file = &writer->file;
	uint32_t logical = (uint32_t)(offset / EXT4_BLOCK), run = 0;
	uint64_t skip = offset % EXT4_BLOCK, physical;

	physical = ext4_map_find(&file->map, logical, &run);
	if (!physical) {
		uint64_t want = (skip + *len + EXT4_BLOCK - 1) / EXT4_BLOCK;

		if (ext4_map_take(writer, &file->map, logical, (uint32_t)want,
				  err) < 0)
			return -1;
		physical = ext4_map_find(&file->map, logical, &run);
	}
	if (*len > (uint64_t)run * EXT4_BLOCK - skip)
		*len = (size_t)((uint64_t)run * EXT4_BLOCK - skip);
	return block_store_data(writer->store, physical * EXT4_BLOCK + skip,
				bytes, *len, err);
}

int ext4_writer_file_data(struct ext4_writer *writer, uint64_t offset,
			  const void *bytes, size_t len, struct error *err)
{
	const uint8_t *at = bytes;

	if (!writer->file.open || offset > writer->file.size ||
	    len > writer->file.size - offset)
		return error_set(err, 0, "it has more data than its size");
	writer->stats.bytes += len;
	while (len > 0) {
		size_t part = len;

		if (put_piece(writer, offset, at, &part, err) < 0)
			return -1;
		at += part;
		offset += part;
		len -= part;
	}
	return 0;
}

int ext4_writer_file_end(struct ext4_writer *writer, struct error *err)
{
	struct ext4_file *file = &writer->file;
	int result = ext4_map_store(writer, &file->map, file->ino, &file->inode,
				    err);

	if (result == 0)
		result = ext4_inode_write(writer, file->ino, &file->inode, err);
	ext4_map_release(&file->map);
	file->open = false;
	return result;
}

int ext4_writer_finish(struct ext4_writer *writer, struct ext4_stats *stats,
		       struct error *err)
{
	ext2_filsys fs = writer->fs;
	errcode_t code;

	if (ext4_dir_write_all(writer, err) < 0)
		return -1;
	*stats = writer->stats;
	stats->blocks = ext2fs_blocks_count(fs->super) -
			ext2fs_free_blocks_count(fs->super);
	fs->super->s_state |= EXT2_VALID_FS;
	ext2fs_mark_super_dirty(fs);
	ext2fs_mark_bb_dirty(fs);
	ext2fs_mark_ib_dirty(fs);
	code = ext2fs_close_free(&writer->fs);
	if (code)
		return ext4_fail(err, code, "writing the metadata");
	return block_store_finish(writer->store, err);
}
