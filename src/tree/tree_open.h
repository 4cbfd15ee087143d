/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_open.h - paths beneath a folder, with no link followed
 *
 * Whoever writes a tree may plant links in it while we are there. Every path
 * is resolved from a descriptor by openat2(), which refuses links and "..".
 */
#pragma once

struct error;

/* As openat() of what is there; "" is the root itself. A link on the way is
 * ELOOP. */
int tree_open(int root, const char *path, int flags);
/*
 * The folder that path lies in, O_PATH; *name is the rest of path. Folders
 * that are missing are made when TREE_MAKE_PARENTS is given.
 */
enum tree_open_flags {
	TREE_MAKE_PARENTS = 1 << 0,
};
int tree_open_parent(int root, const char *path, unsigned flags,
		     const char **name, struct error *err);
/* "PATH: strerror(code)", PATH fit for a terminal; ELOOP says what it means. */
int tree_error(struct error *err, int code, const char *path);
/* For descriptors that linkat() or chmod() reach by a name. */
#define TREE_MAGIC_MAX 32
void tree_magic(int fd, char magic[TREE_MAGIC_MAX]);
