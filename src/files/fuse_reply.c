/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuse_reply.c - typed replies and notifications become bytes
 */
#include "files/fuse_reply.h"

#include <string.h>

#include "proto/record.h"

#define HEADERS (RECORD_HEADER_BYTES + sizeof(struct fuse_out_header))

void reply_begin(struct reply *reply, void *bytes, size_t size)
{
	*reply = (struct reply){ .bytes = bytes, .size = size, .len = HEADERS };
}

int reply_add(struct reply *reply, const void *bytes, size_t len)
{
	if (len > reply->size - reply->len)
		return -1;
	memcpy(reply->bytes + reply->len, bytes, len);
	reply->len += len;
	return 0;
}

void *reply_room(struct reply *reply, size_t *left)
{
	*left = reply->size - reply->len;
	return reply->bytes + reply->len;
}

void reply_grow(struct reply *reply, size_t len)
{
	reply->len += len;
}

/* For replies error is negated by the caller's convention; codes are not. */
static size_t end_message(struct reply *reply, unsigned share, uint64_t unique,
			  int32_t error)
{
	struct record record = { .type = RECORD_FUSE, .share = (uint8_t)share };
	struct fuse_out_header head = { .error = error, .unique = unique };

	head.len = (uint32_t)(reply->len - RECORD_HEADER_BYTES);
	record.len = head.len;
	record_encode(&record, reply->bytes);
	memcpy(reply->bytes + RECORD_HEADER_BYTES, &head, sizeof(head));
	return reply->len;
}

size_t reply_end(struct reply *reply, unsigned share, uint64_t unique,
		 int error)
{
	if (error)
		reply->len = HEADERS;
	return end_message(reply, share, unique, -error);
}

static void add_padded(struct reply *reply, const struct reply_dirent *entry)
{
	struct fuse_dirent head = { .ino = entry->ino,
				    .off = entry->off,
				    .namelen = (uint32_t)entry->name_len,
				    .type = entry->type };
	static const uint8_t zero[8];
	size_t len = FUSE_NAME_OFFSET + entry->name_len;

	reply_add(reply, &head, FUSE_NAME_OFFSET);
	reply_add(reply, entry->name, entry->name_len);
	reply_add(reply, zero, FUSE_DIRENT_ALIGN(len) - len);
}

static bool fits(const struct reply *reply, size_t limit, size_t len)
{
	size_t body = reply->len - HEADERS;

	return len <= reply->size - reply->len && body <= limit &&
	       len <= limit - body;
}

bool reply_dirent(struct reply *reply, size_t limit,
		  const struct reply_dirent *entry)
{
	if (!fits(reply, limit,
		  FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + entry->name_len)))
		return false;
	add_padded(reply, entry);
	return true;
}

bool reply_fits_direntplus(const struct reply *reply, size_t limit,
			   size_t name_len)
{
	return fits(reply, limit,
		    sizeof(struct fuse_entry_out) +
			    FUSE_DIRENT_ALIGN(FUSE_NAME_OFFSET + name_len));
}

bool reply_direntplus(struct reply *reply, size_t limit,
		      const struct fuse_entry_out *out,
		      const struct reply_dirent *entry)
{
	if (!reply_fits_direntplus(reply, limit, entry->name_len))
		return false;
	reply_add(reply, out, sizeof(*out));
	add_padded(reply, entry);
	return true;
}

size_t reply_inval_inode(void *bytes, size_t size, unsigned share,
			 uint64_t node, bool with_data)
{
	/* A negative offset means attributes only; length 0 means to the end.
	 */
	struct fuse_notify_inval_inode_out body = {
		.ino = node,
		.off = with_data ? 0 : -1,
	};
	struct reply reply;

	if (size < HEADERS + sizeof(body))
		return 0;
	reply_begin(&reply, bytes, size);
	reply_add(&reply, &body, sizeof(body));
	return end_message(&reply, share, 0, FUSE_NOTIFY_INVAL_INODE);
}

size_t reply_inval_entry(void *bytes, size_t size, unsigned share,
			 uint64_t parent, const char *name)
{
	size_t len = strlen(name);
	struct fuse_notify_inval_entry_out body = {
		.parent = parent,
		.namelen = (uint32_t)len,
	};
	struct reply reply;

	if (size < HEADERS + sizeof(body) + len + 1)
		return 0;
	reply_begin(&reply, bytes, size);
	reply_add(&reply, &body, sizeof(body));
	reply_add(&reply, name, len + 1);
	return end_message(&reply, share, 0, FUSE_NOTIFY_INVAL_ENTRY);
}
