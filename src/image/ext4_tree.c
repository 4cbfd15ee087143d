/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_tree.c - the names of an image, in memory until the end
 */
#include "image/ext4_writer_internal.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/mem.h"

#define FIRST_BUCKETS 4096
/* Names cost memory, and hard links are names without an inode each. */
#define NAMES_MAX (2u << 20)
#define TARGETS_MAX ((size_t)32 << 20)

/* FNV-1a: names come from an archive, but a slow table only slows its maker. */
static size_t hash_of(const struct ext4_node *parent, const char *name,
		      size_t len)
{
	uint64_t hash = 0xcbf29ce484222325ull ^ parent->ino;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ (uint8_t)name[i]) * 0x100000001b3ull;
	return (size_t)(hash ^ (hash >> 32));
}

static struct ext4_node **bucket_of(struct ext4_writer *writer,
				    const struct ext4_node *parent,
				    const char *name, size_t len)
{
	return &writer->buckets[hash_of(parent, name, len) &
				(writer->bucket_count - 1)];
}

static void grow(struct ext4_writer *writer)
{
	struct ext4_node **old = writer->buckets;
	size_t old_count = writer->bucket_count;

	writer->bucket_count = old_count * 2;
	writer->buckets =
		xcalloc(writer->bucket_count, sizeof(struct ext4_node *));
	for (size_t i = 0; i < old_count; i++) {
		struct ext4_node *node = old[i];

		while (node) {
			struct ext4_node *next = node->bucket_next;
			struct ext4_node **bucket =
				bucket_of(writer, node->parent, node->name,
					  node->name_len);

			node->bucket_next = *bucket;
			*bucket = node;
			node = next;
		}
	}
	free(old);
}

struct ext4_node *ext4_tree_child(struct ext4_writer *writer,
				  const struct ext4_node *parent,
				  const char *name, size_t len)
{
	struct ext4_node *node = *bucket_of(writer, parent, name, len);

	while (node && (node->parent != parent || node->name_len != len ||
			memcmp(node->name, name, len) != 0))
		node = node->bucket_next;
	return node;
}

static struct ext4_node *node_new(struct ext4_writer *writer,
				  struct ext4_node *parent, const char *name,
				  size_t len, uint8_t type)
{
	struct ext4_node *node = xcalloc(1, sizeof(*node) + len + 1);
	struct ext4_node **bucket;

	memcpy(node->name, name, len);
	node->name_len = (uint8_t)len;
	node->type = type;
	node->parent = parent;
	list_init(&node->children);
	list_init(&node->siblings);
	list_init(&node->dirs);
	if (type == EXT2_FT_DIR)
		list_append(&writer->dirs, &node->dirs);
	if (!parent)
		return node;
	if (writer->node_count >= writer->bucket_count)
		grow(writer);
	bucket = bucket_of(writer, parent, name, len);
	node->bucket_next = *bucket;
	*bucket = node;
	writer->node_count++;
	list_append(&parent->children, &node->siblings);
	parent->child_count++;
	parent->subdir_count += type == EXT2_FT_DIR;
	return node;
}

static void node_free(struct ext4_writer *writer, struct ext4_node *node)
{
	struct ext4_node **link =
		bucket_of(writer, node->parent, node->name, node->name_len);

	while (*link != node)
		link = &(*link)->bucket_next;
	*link = node->bucket_next;
	writer->node_count--;
	list_remove(&node->siblings);
	list_remove(&node->dirs);
	node->parent->child_count--;
	node->parent->subdir_count -= node->type == EXT2_FT_DIR;
	if (node->target)
		writer->target_bytes -= strlen(node->target) + 1;
	free(node->target);
	free(node);
}

/* Deepest first, without recursion: the depth is the archive's choice. */
int ext4_tree_remove(struct ext4_writer *writer, struct ext4_node *top,
		     struct error *err)
{
	struct ext4_node *node = top, *parent;

	do {
		while (!list_empty(&node->children))
			node = LIST_ENTRY(node->children.next, struct ext4_node,
					  siblings);
		parent = node->parent;
		if (ext4_inode_drop(writer, node->ino,
				    node->type == EXT2_FT_DIR, err) < 0)
			return -1;
		if (node == top)
			parent = NULL;
		node_free(writer, node);
		node = parent;
	} while (node);
	return 0;
}

/* The next one in order that is not beneath node; NULL after the last. */
static struct ext4_node *next_after(struct ext4_node *node,
				    const struct ext4_node *top)
{
	while (node != top) {
		struct ext4_node *parent = node->parent;

		if (node->siblings.next != &parent->children)
			return LIST_ENTRY(node->siblings.next, struct ext4_node,
					  siblings);
		node = parent;
	}
	return NULL;
}

int ext4_tree_remove_lower(struct ext4_writer *writer, struct ext4_node *top,
			   struct error *err)
{
	struct ext4_node *node = top, *next;

	while (node) {
		if (node->ino == EXT4_LOST_FOUND_INO) {
			next = next_after(node, top);
		} else if (node != top && node->layer != writer->layer) {
			next = next_after(node, top);
			if (ext4_tree_remove(writer, node, err) < 0)
				return -1;
		} else if (!list_empty(&node->children)) {
			next = LIST_ENTRY(node->children.next, struct ext4_node,
					  siblings);
		} else {
			next = next_after(node, top);
		}
		node = next;
	}
	return 0;
}

void ext4_tree_keep_target(struct ext4_writer *writer, struct ext4_node *node,
			   const char *target)
{
	size_t bytes = strlen(target) + 1;

	/* what is not kept leads nowhere */
	if (!writer->follows || bytes > TARGETS_MAX - writer->target_bytes)
		return;
	node->target = xstrdup(target);
	writer->target_bytes += bytes;
}

static int make_folder(struct ext4_writer *writer, struct ext4_node *node,
		       mode_t mode, struct error *err)
{
	struct timespec now = { .tv_sec = writer->fs->now };
	struct ext4_attr attr = {
		.mode = S_IFDIR | mode, .atime = now, .mtime = now, .ctime = now
	};
	struct ext2_inode_large inode;

	if (!node->ino && ext4_inode_take(writer, true, &node->ino, err) < 0)
		return -1;
	ext4_inode_fill(&inode, &attr);
	return ext4_inode_write(writer, node->ino, &inode, err);
}

int ext4_tree_init(struct ext4_writer *writer, struct error *err)
{
	struct ext4_node *lost;

	list_init(&writer->dirs);
	writer->bucket_count = FIRST_BUCKETS;
	writer->buckets = xcalloc(FIRST_BUCKETS, sizeof(struct ext4_node *));
	writer->root = node_new(writer, NULL, "", 0, EXT2_FT_DIR);
	writer->root->ino = EXT2_ROOT_INO;
	ext2fs_inode_alloc_stats2(writer->fs, EXT2_ROOT_INO, +1, 1);
	if (make_folder(writer, writer->root, 0755, err) < 0)
		return -1;
	lost = node_new(writer, writer->root, "lost+found", 10, EXT2_FT_DIR);
	return make_folder(writer, lost, 0700, err);
}

void ext4_tree_release(struct ext4_writer *writer)
{
	for (size_t i = 0; i < writer->bucket_count; i++) {
		struct ext4_node *node = writer->buckets[i];

		while (node) {
			struct ext4_node *next = node->bucket_next;

			free(node->target);
			free(node);
			node = next;
		}
	}
	free(writer->buckets);
	free(writer->root);
}

struct ext4_node *ext4_tree_add_folder(struct ext4_writer *writer,
				       struct ext4_node *parent,
				       const char *name, size_t len,
				       struct error *err)
{
	struct ext4_node *node =
		node_new(writer, parent, name, len, EXT2_FT_DIR);

	if (make_folder(writer, node, 0755, err) < 0)
		return NULL;
	writer->stats.files++;
	return node;
}

/* With all its parents: they are not removed with what lies below. */
static struct ext4_node *touch(struct ext4_writer *writer,
			       struct ext4_node *node)
{
	for (struct ext4_node *up = node; up && up->layer != writer->layer;
	     up = up->parent)
		up->layer = writer->layer;
	return node;
}

struct ext4_node *ext4_tree_make(struct ext4_writer *writer, const char *path,
				 uint8_t type, struct error *err)
{
	struct ext4_walk walk;
	struct ext4_node *old;

	if (!*path) {
		if (type != EXT2_FT_DIR) {
			error_set(err, 0, "the root must be a folder");
			return NULL;
		}
		return touch(writer, writer->root);
	}
	if (ext4_path_walk(writer, path, EXT4_WALK_MAKE, &walk, err) < 0)
		return NULL;
	old = ext4_tree_child(writer, walk.parent, walk.name,
			      strlen(walk.name));
	if (old && old->type == EXT2_FT_DIR && type == EXT2_FT_DIR)
		return touch(writer, old);
	if (old && old->ino == EXT4_LOST_FOUND_INO) {
		error_set(err, 0, "lost+found must be a folder");
		return NULL;
	}
	if (old && ext4_tree_remove(writer, old, err) < 0)
		return NULL;
	if (writer->node_count >= NAMES_MAX) {
		error_set(err, ENOSPC, "there are more than 2 million names");
		return NULL;
	}
	return touch(writer, node_new(writer, walk.parent, walk.name,
				      strlen(walk.name), type));
}
