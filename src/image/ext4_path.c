/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ext4_path.c - the way to a name in an image that is being written
 *
 * Layers of an image may name "lib/x" where a lower layer has made lib a link
 * to usr/lib; every engine follows it then, within the image. Here that is a
 * walk over names in memory: there is nothing outside to be reached.
 */
#include "image/ext4_writer_internal.h"

#include "base/error.h"

#define LINKS_MAX 40 /* as the kernel's */
#define NAME_MAX_BYTES 255

/* What is left of the path begins at *rest; puts the link's target there. */
static int expand(struct ext4_walk *walk, const char *target, const char **rest,
		  struct error *err)
{
	size_t target_len = strlen(target), rest_len = strlen(*rest);

	if (target_len + rest_len + 2 > sizeof(walk->text))
		return error_set(err, 0, "the way to it is too long");
	memmove(walk->text + target_len + 1, *rest, rest_len + 1);
	memcpy(walk->text, target, target_len);
	walk->text[target_len] = '/';
	*rest = walk->text;
	return 0;
}

/* Behind a name that is no folder there is nothing to be found. */
static int stop(const struct ext4_node *node, enum ext4_walk_mode mode,
		struct error *err)
{
	if (mode == EXT4_WALK_FIND)
		return 0;
	return error_set(err, 0,
			 node->type == EXT2_FT_SYMLINK
				 ? "it lies behind a symbolic link"
				 : "its parent is not a folder");
}

static bool is_part(const char *part, size_t len, const char *name)
{
	return strlen(name) == len && memcmp(part, name, len) == 0;
}

int ext4_path_walk(struct ext4_writer *writer, const char *path,
		   enum ext4_walk_mode mode, struct ext4_walk *walk,
		   struct error *err)
{
	struct ext4_node *node = writer->root, *next;
	const char *rest = walk->text;
	unsigned links = 0;

	walk->parent = NULL;
	if (strlen(path) >= sizeof(walk->text))
		return error_set(err, 0, "its name is too long");
	memcpy(walk->text, path, strlen(path) + 1);
	for (;;) {
		const char *part = rest;
		size_t len = strcspn(part, "/");

		if (!part[len])
			break;
		rest = part + len + 1;
		if (!len || is_part(part, len, "."))
			continue;
		if (is_part(part, len, "..")) {
			node = node->parent ? node->parent : node;
			continue;
		}
		if (len > NAME_MAX_BYTES)
			return error_set(err, 0, "a part of it is too long");
		next = ext4_tree_child(writer, node, part, len);
		if (next && next->target) {
			if (++links > LINKS_MAX)
				return error_set(err, 0,
						 "it lies behind too many "
						 "symbolic links");
			if (next->target[0] == '/')
				node = writer->root;
			if (expand(walk, next->target, &rest, err) < 0)
				return -1;
			continue;
		}
		if (next && next->type != EXT2_FT_DIR)
			return stop(next, mode, err);
		if (!next && mode == EXT4_WALK_FIND)
			return 0;
		if (!next)
			next = ext4_tree_add_folder(writer, node, part, len,
						    err);
		if (!next)
			return -1;
		node = next;
	}
	walk->name = rest;
	walk->parent = node;
	return 0;
}

struct ext4_node *ext4_path_find(struct ext4_writer *writer, const char *path)
{
	struct ext4_walk walk;

	if (!*path)
		return writer->root;
	if (ext4_path_walk(writer, path, EXT4_WALK_FIND, &walk, NULL) < 0 ||
	    !walk.parent)
		return NULL;
	return ext4_tree_child(writer, walk.parent, walk.name,
			       strlen(walk.name));
}
