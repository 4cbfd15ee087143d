/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree_walk.h - a folder or file as a tar archive, with no link followed
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct error;

/* What becomes of an entry. */
enum tree_walk_choice {
	TREE_WALK_TAKE,
	TREE_WALK_EMPTY, /* a folder without what is in it */
	TREE_WALK_LEAVE, /* it and all in it are left out */
};

struct tree_walk_setup {
	/* Takes bytes of the archive; -1 ends the walk. */
	int (*put)(void *ctx, const void *bytes, size_t len, struct error *err);
	/* Told what cannot be copied and why; may be NULL. */
	void (*skipped)(void *ctx, const char *path, const char *why);
	/* Asked about each entry, by its path in the archive; may be NULL. */
	enum tree_walk_choice (*choose)(void *ctx, const char *path);
	/* Reads a file's bytes from offset at on, in order, as pread() does;
	 * may be NULL. */
	ssize_t (*read)(void *ctx, int fd, uint64_t at, void *bytes,
			size_t len);
	void *ctx;
	unsigned flags;
};

enum tree_walk_flags {
	/* the upper folder of an overlay: whiteouts become notes */
	TREE_WALK_CHANGES = 1 << 0,
	/* a whole disk: attributes of all kinds, devices and FIFOs, too */
	TREE_WALK_DISK = 1 << 1,
};

/*
 * Writes name of the folder at, and all in it, as `as` ("" = its content as
 * the root). Then the end of the archive.
 */
int tree_walk(int at, const char *name, const char *as,
	      const struct tree_walk_setup *setup, struct error *err);
