/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_writer_internal.h - shared by the ext4_*.c files only
 */
#pragma once

#include <stdbool.h>
#include <ext2fs/ext2fs.h>

#include "base/list.h"
#include "image/block_store.h"
#include "image/ext4_writer.h"

#define EXT4_BLOCK BLOCK_STORE_BLOCK
#define EXT4_LOST_FOUND_INO 11

/* A name. Several names may have one inode (hard links). */
struct ext4_node {
	struct ext4_node *parent; /* NULL for the root */
	struct ext4_node *bucket_next;
	struct list siblings; /* in parent->children */
	struct list children; /* of a directory */
	struct list dirs;     /* in writer->dirs, directories only */
	char *target; /* of a symbolic link, owned; NULL when not kept */
	uint32_t child_count, subdir_count;
	ext2_ino_t ino;
	uint16_t layer; /* the last one that had it or something beneath it */
	uint8_t type;   /* EXT2_FT_… */
	uint8_t name_len;
	char name[];
};

struct ext4_extent {
	uint32_t logical;
	uint32_t len;
	uint64_t physical;
};

/* The mapping of one inode while it is being written. */
struct ext4_map {
	struct ext4_extent *extents; /* owned */
	size_t count, capacity;
	uint64_t blocks; /* allocated so far */
};

struct ext4_file {
	bool open;
	ext2_ino_t ino;
	uint64_t size;
	enum ext4_layout layout;
	struct ext2_inode_large inode;
	struct ext4_map map;
};

struct ext4_writer {
	ext2_filsys fs;
	struct block_store *store; /* owned */
	struct ext4_node *root;
	struct ext4_node **buckets; /* owned; nodes by (parent, name) */
	size_t bucket_count, node_count;
	size_t target_bytes; /* of links, kept in memory */
	struct list dirs;    /* every directory */
	uint16_t layer;
	bool follows; /* links on the way to a name */
	ext2_ino_t next_ino;
	uint64_t next_block;
	struct ext4_file file;
	struct ext4_stats stats;
};

/* "text: what libext2fs says" */
int ext4_fail(struct error *err, errcode_t code, const char *text);

/* ext4_format.c: an empty file system with journal, no directories yet */
int ext4_format(struct ext4_writer *writer, uint64_t bytes, const char *label,
		struct error *err);

/* ext4_tree.c: names in memory */
int ext4_tree_init(struct ext4_writer *writer, struct error *err);
void ext4_tree_release(struct ext4_writer *writer);
/* NULL when there is none. */
struct ext4_node *ext4_tree_child(struct ext4_writer *writer,
				  const struct ext4_node *parent,
				  const char *name, size_t len);
/* A new name; missing parents are made, an older name there is removed. */
struct ext4_node *ext4_tree_make(struct ext4_writer *writer, const char *path,
				 uint8_t type, struct error *err);
/* A folder for which no entry came. */
struct ext4_node *ext4_tree_add_folder(struct ext4_writer *writer,
				       struct ext4_node *parent,
				       const char *name, size_t len,
				       struct error *err);
/* Remembers where a link leads, for names behind it. */
void ext4_tree_keep_target(struct ext4_writer *writer, struct ext4_node *node,
			   const char *target);
/* All of it, or all that the current layer has not touched. */
int ext4_tree_remove(struct ext4_writer *writer, struct ext4_node *node,
		     struct error *err);
int ext4_tree_remove_lower(struct ext4_writer *writer, struct ext4_node *node,
			   struct error *err);

/* ext4_path.c: the way to a name */
enum ext4_walk_mode {
	EXT4_WALK_FIND,
	EXT4_WALK_MAKE, /* missing folders are made */
};

#define EXT4_WALK_MAX 8192

struct ext4_walk {
	char text[EXT4_WALK_MAX]; /* what is left of the path */
	const char *name;         /* the last part of it; in text */
	struct ext4_node *parent; /* NULL: there is none */
};

/*
 * path is not "". In writer->follows links are followed within the image, as
 * a chroot would, but never the last part; otherwise a link on the way is an
 * error when making, and leads nowhere when finding.
 */
int ext4_path_walk(struct ext4_writer *writer, const char *path,
		   enum ext4_walk_mode mode, struct ext4_walk *walk,
		   struct error *err);
/* NULL without an error when there is none. */
struct ext4_node *ext4_path_find(struct ext4_writer *writer, const char *path);

/* ext4_inode.c */
int ext4_inode_take(struct ext4_writer *writer, bool is_dir, ext2_ino_t *ino,
		    struct error *err);
void ext4_inode_fill(struct ext2_inode_large *inode,
		     const struct ext4_attr *attr);
int ext4_inode_write(struct ext4_writer *writer, ext2_ino_t ino,
		     struct ext2_inode_large *inode, struct error *err);
int ext4_inode_read(struct ext4_writer *writer, ext2_ino_t ino,
		    struct ext2_inode_large *inode, struct error *err);
/* One name less; the last one gives inode and blocks back. */
int ext4_inode_drop(struct ext4_writer *writer, ext2_ino_t ino, bool is_dir,
		    struct error *err);

/* ext4_map.c: blocks of an inode */
int ext4_map_take(struct ext4_writer *writer, struct ext4_map *map,
		  uint32_t logical, uint32_t count, struct error *err);
/* 0 when the block is a hole. */
uint64_t ext4_map_find(const struct ext4_map *map, uint32_t logical,
		       uint32_t *run);
/* Puts the extents into the inode (not yet written). */
int ext4_map_store(struct ext4_writer *writer, struct ext4_map *map,
		   ext2_ino_t ino, struct ext2_inode_large *inode,
		   struct error *err);
void ext4_map_release(struct ext4_map *map);

/* ext4_dir.c: all directories, after the last entry */
int ext4_dir_write_all(struct ext4_writer *writer, struct error *err);

/* ext4_htree.c: an indexed directory */
struct ext4_name {
	const char *name;
	ext2_ino_t ino;
	uint32_t hash, minor;
	uint8_t len, type;
};
/*
 * Fills blocks (malloc'd, *count of them) for a directory that does not fit
 * into one block; names are sorted in place.
 */
int ext4_htree_build(ext2_filsys fs, ext2_ino_t ino, ext2_ino_t parent,
		     struct ext4_name *names, size_t name_count,
		     uint8_t **blocks, size_t *count, struct error *err);
/* One more entry at offset of a block; returns the offset behind it. */
size_t ext4_dirent_put(uint8_t *block, size_t offset, ext2_ino_t ino,
		       const char *name, uint8_t len, uint8_t type);
size_t ext4_dirent_size(uint8_t name_len);
/* Makes the entry at last reach up to the checksum, and adds that. */
void ext4_dirent_close(ext2_filsys fs, uint8_t *block, size_t last);

/* ext4_xattr.c */
/* The inode, which has been written before, loses all of them. */
int ext4_xattr_clear(struct ext4_writer *writer, ext2_ino_t ino,
		     struct error *err);
int ext4_xattr_write(struct ext4_writer *writer, ext2_ino_t ino,
		     const struct ext4_entry *entry, struct error *err);
