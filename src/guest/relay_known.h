/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_known.h - files that can be changed without waiting for the server
 *
 * Of a file that this guest made, or that the server has changed for it
 * without an error, a further write will hardly fail as long as there is room
 * on the host's disk, which the server tells. So the kernel is answered at
 * once. Of a file that was made here the attributes are known as well, as they
 * came with the answer: a change of its mode or times can be answered, too.
 * The same goes for a folder that the server has removed a name from: the next
 * one that the kernel knows can go as well. And for one that was made here,
 * where relay_make.c has new ones. As long as that is under way the folder's
 * attributes are told from here, which the kernel wants to know before each.
 * All changes go on to the server, which alone decides; relay_writes.h says
 * what becomes of an error.
 *
 * Before a program reads what it has just written its kernel asks for the
 * file's size, which it knows itself: relay_early.c. The server is asked all
 * the same when it has not said anything of the file for a while.
 *
 * A slot is forgotten whenever something else may change the file. Pure.
 */
#pragma once

#include <linux/fuse.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#define KNOWN_SLOTS 64   /* one for each node; a newer one takes the place */
#define KNOWN_FOLDERS 16 /* the same for folders */

struct known {
	uint64_t node; /* 0: free */
	uint64_t folder;
	uint8_t share;
	bool is_folder;
	bool may_lose; /* names may be removed from it */
	bool has_attr;
	bool written;      /* since its size was asked for */
	uint64_t told;     /* second in which the server spoke of it */
	uint32_t opener;   /* thread that has not opened it yet; 0: none */
	unsigned changing; /* names of a folder: answered, but not done */
	struct fuse_attr attr;
};

struct known_table {
	struct known slots[KNOWN_SLOTS];
	struct known folders[KNOWN_FOLDERS];
};

void known_clear(struct known_table *table);
/* NULL: nothing is known of it. */
struct known *known_find(struct known_table *table, unsigned share,
			 uint64_t node);
/* A file in a folder that has just been made. */
struct known *known_made(struct known_table *table, unsigned share,
			 uint64_t folder, const struct fuse_entry_out *entry);
/* The same, or a folder: the answer to CREATE or MKDIR; len of the body. */
void known_answered(struct known_table *table, unsigned share, uint64_t folder,
		    const void *body, size_t len);
/* The server has changed it. */
void known_changed(struct known_table *table, unsigned share, uint64_t node);
/* The server has removed a name from this folder. */
void known_removed(struct known_table *table, unsigned share, uint64_t folder);
/* What the server said of it, in this second; of a file only that it did. */
void known_told(struct known_table *table, unsigned share, uint64_t node,
		const struct fuse_attr *attr, uint64_t second);
/* The answer to GETATTR, of a folder that changes; to be believed for an
 * instant. False: it has to be asked. */
bool known_attr(const struct known *known, const struct timespec *now,
		struct fuse_attr_out *out);
/* A file: may the kernel be left with the size that it has, this once? */
bool known_take_size(struct known *known, const struct timespec *now);
void known_drop(struct known_table *table, unsigned share, uint64_t node);
/* A request passes that may change more than known_write() and _set() say. */
void known_drop_changed(struct known_table *table, unsigned share,
			const void *request, size_t len);

/* A write of it passes. */
void known_write(struct known *known, const struct fuse_write_in *in);
/*
 * The answer to SETATTR that the server will give, but for what its clock
 * says: it may be believed at no later time. False: it has to be asked.
 */
bool known_set(struct known *known, const struct fuse_setattr_in *in,
	       const struct timespec *now, struct fuse_attr_out *out);
