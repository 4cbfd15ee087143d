/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_reply.h - typed replies and notifications become bytes
 *
 * A reply is built in place in the output buffer: record header, FUSE header,
 * body. Nothing here allocates; what does not fit is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <linux/fuse.h>

struct reply {
	uint8_t *bytes; /* borrowed */
	size_t size;
	size_t len;
};

/* size holds at least a record header and a FUSE header. */
void reply_begin(struct reply *reply, void *bytes, size_t size);
/* -1 when it does not fit; then nothing was added. */
int reply_add(struct reply *reply, const void *bytes, size_t len);
/* Room for what is read straight into the reply; then reply_grow(). */
void *reply_room(struct reply *reply, size_t *left);
void reply_grow(struct reply *reply, size_t len);
/*
 * Writes both headers and returns the bytes of the whole record. error is 0 or
 * a positive errno, which drops the body.
 */
size_t reply_end(struct reply *reply, unsigned share, uint64_t unique,
		 int error);

struct reply_dirent {
	uint64_t ino;
	uint64_t off; /* where the next entry begins */
	uint32_t type;
	const char *name;
	size_t name_len;
};

/* False, and nothing is added, when the body would exceed limit bytes. */
bool reply_dirent(struct reply *reply, size_t limit,
		  const struct reply_dirent *entry);
bool reply_direntplus(struct reply *reply, size_t limit,
		      const struct fuse_entry_out *out,
		      const struct reply_dirent *entry);
bool reply_fits_direntplus(const struct reply *reply, size_t limit,
			   size_t name_len);

/* Whole records; the number of bytes, 0 when size is too small. */
size_t reply_inval_inode(void *bytes, size_t size, unsigned share,
			 uint64_t node, bool with_data);
size_t reply_inval_entry(void *bytes, size_t size, unsigned share,
			 uint64_t parent, const char *name);
