/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_ahead.c - answers that came before their requests
 */
#include "guest/relay_ahead.h"

#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proto/cursor.h"
#include "proto/record.h"

struct ahead {
	struct list order;
	struct ahead *next; /* of the same bucket */
	uint64_t node, offset;
	uint32_t opcode; /* FUSE_READ, FUSE_READDIR, FUSE_LOOKUP */
	uint32_t len;
	uint8_t share;
	uint8_t bytes[];
};

void ahead_init(struct ahead_table *table)
{
	*table = (struct ahead_table){ 0 };
	list_init(&table->order);
}

static struct ahead **bucket_of(struct ahead_table *table, unsigned share,
				uint64_t node)
{
	return &table->buckets[(node + share * 61) % AHEAD_BUCKETS];
}

static void discard(struct ahead_table *table, struct ahead **link)
{
	struct ahead *ahead = *link;

	*link = ahead->next;
	list_remove(&ahead->order);
	table->bytes -= sizeof(*ahead) + ahead->len;
	table->count--;
	free(ahead);
}

/* opcode 0: of any kind. */
static void drop(struct ahead_table *table, unsigned share, uint64_t node,
		 uint32_t opcode)
{
	struct ahead **link = bucket_of(table, share, node);

	while (*link) {
		if ((*link)->node == node && (*link)->share == share &&
		    (!opcode || (*link)->opcode == opcode))
			discard(table, link);
		else
			link = &(*link)->next;
	}
}

void ahead_drop(struct ahead_table *table, unsigned share, uint64_t node)
{
	drop(table, share, node, 0);
}

static void drop_oldest(struct ahead_table *table)
{
	struct ahead *oldest =
		LIST_ENTRY(table->order.next, struct ahead, order);

	ahead_drop(table, oldest->share, oldest->node);
}

void ahead_clear(struct ahead_table *table)
{
	while (table->count)
		drop_oldest(table);
}

static const void *parse(const void *payload, size_t len, struct ahead *ahead)
{
	struct cursor c = cursor_over(payload, len);

	ahead->opcode = cursor_u32(&c);
	if (cursor_u32(&c) != 0)
		return NULL;
	ahead->node = cursor_u64(&c);
	ahead->offset = cursor_u64(&c);
	ahead->len = (uint32_t)cursor_left(&c);
	if (c.bad || !ahead->node)
		return NULL;
	if (ahead->opcode == FUSE_READ && ahead->offset)
		return NULL; /* always the whole file */
	if (ahead->opcode != FUSE_READ && ahead->opcode != FUSE_READDIR &&
	    ahead->opcode != FUSE_LOOKUP)
		return NULL;
	/* Names, each with its end. */
	if (ahead->opcode == FUSE_LOOKUP &&
	    (!ahead->len || ((const uint8_t *)payload)[len - 1]))
		return NULL;
	return cursor_bytes(&c, ahead->len);
}

uint64_t ahead_node(const void *payload, size_t len)
{
	struct ahead ahead;

	return parse(payload, len, &ahead) ? ahead.node : 0;
}

bool ahead_add(struct ahead_table *table, unsigned share, const void *payload,
	       size_t len)
{
	struct ahead head, *ahead, **bucket;
	const void *bytes = parse(payload, len, &head);

	if (!bytes)
		return false;
	drop(table, share, head.node, head.opcode);
	while (table->count && (table->bytes > AHEAD_BYTES_MAX ||
				table->count >= AHEAD_COUNT_MAX))
		drop_oldest(table);
	ahead = xmalloc(sizeof(*ahead) + head.len);
	*ahead = head;
	ahead->share = (uint8_t)share;
	memcpy(ahead->bytes, bytes, head.len);
	bucket = bucket_of(table, share, head.node);
	ahead->next = *bucket;
	*bucket = ahead;
	list_append(&table->order, &ahead->order);
	table->bytes += sizeof(*ahead) + ahead->len;
	table->count++;
	return true;
}

static struct ahead **find(struct ahead_table *table, unsigned share,
			   const void *request, size_t len,
			   struct fuse_read_in *in)
{
	struct fuse_in_header head;
	struct ahead **link;
	uint32_t opcode;

	if (len != sizeof(head) + sizeof(*in))
		return NULL;
	memcpy(&head, request, sizeof(head));
	memcpy(in, (const uint8_t *)request + sizeof(head), sizeof(*in));
	opcode = head.opcode == FUSE_READ ? FUSE_READ : FUSE_READDIR;
	link = bucket_of(table, share, head.nodeid);
	for (; *link; link = &(*link)->next) {
		struct ahead *ahead = *link;

		if (ahead->node == head.nodeid && ahead->share == share &&
		    ahead->opcode == opcode &&
		    (opcode == FUSE_READ || ahead->offset == in->offset))
			return link;
	}
	return NULL;
}

bool ahead_find(struct ahead_table *table, unsigned share, const void *request,
		size_t len, struct ahead_answer *answer)
{
	struct fuse_read_in in;
	struct ahead **link, *ahead;
	uint64_t at;

	if (!table->count)
		return false;
	link = find(table, share, request, len, &in);
	if (!link)
		return false;
	ahead = *link;
	at = ahead->opcode == FUSE_READ ? in.offset : 0;
	if (at > ahead->len)
		at = ahead->len;
	answer->bytes = ahead->bytes + at;
	answer->len = ahead->len - at;
	if (answer->len > in.size)
		answer->len = in.size;
	return true;
}

void ahead_used(struct ahead_table *table, unsigned share, const void *request,
		size_t len)
{
	struct fuse_read_in in;
	struct ahead **link = find(table, share, request, len, &in);

	if (link &&
	    ((*link)->opcode == FUSE_READDIR || in.offset >= (*link)->len ||
	     in.size >= (*link)->len - in.offset))
		discard(table, link);
}

static bool has_name(const struct ahead *ahead, const char *name)
{
	const char *at = (const char *)ahead->bytes;
	const char *end = at + ahead->len;

	for (; at < end; at += strlen(at) + 1) {
		if (strcmp(at, name) == 0)
			return true;
	}
	return false;
}

bool ahead_is_absent(struct ahead_table *table, unsigned share,
		     const void *request, size_t len, uint64_t *seconds)
{
	const char *name =
		(const char *)request + sizeof(struct fuse_in_header);
	struct fuse_in_header head;
	struct ahead *ahead;

	if (!table->count || len <= sizeof(head) ||
	    ((const char *)request)[len - 1])
		return false;
	memcpy(&head, request, sizeof(head));
	ahead = *bucket_of(table, share, head.nodeid);
	for (; ahead; ahead = ahead->next) {
		if (ahead->node != head.nodeid || ahead->share != share ||
		    ahead->opcode != FUSE_LOOKUP)
			continue;
		*seconds = ahead->offset;
		return has_name(ahead, name);
	}
	return false;
}

/* The nodes beside the header's that a request may change; 0: none. */
static uint64_t second_node(const void *request, size_t len, uint32_t opcode)
{
	const uint8_t *body =
		(const uint8_t *)request + sizeof(struct fuse_in_header);
	struct fuse_copy_file_range_in copy;
	uint64_t node;

	len -= sizeof(struct fuse_in_header);
	switch (opcode) {
	case FUSE_RENAME:
	case FUSE_RENAME2:
	case FUSE_LINK:
		/* All three begin with it. */
		if (len < sizeof(node))
			return 0;
		memcpy(&node, body, sizeof(node));
		return node;
	case FUSE_COPY_FILE_RANGE:
		if (len < sizeof(copy))
			return 0;
		memcpy(&copy, body, sizeof(copy));
		return copy.nodeid_out;
	default:
		return 0;
	}
}

static bool changes_something(uint32_t opcode)
{
	switch (opcode) {
	case FUSE_LOOKUP:
	case FUSE_GETATTR:
	case FUSE_READ:
	case FUSE_READDIR:
	case FUSE_READDIRPLUS:
	case FUSE_READLINK:
	case FUSE_STATFS:
	case FUSE_GETXATTR:
	case FUSE_LISTXATTR:
	case FUSE_OPEN:
	case FUSE_OPENDIR:
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
	case FUSE_FLUSH:
	case FUSE_ACCESS:
	case FUSE_LSEEK:
	case FUSE_FSYNC:
	case FUSE_FSYNCDIR:
	case FUSE_SYNCFS:
		return false;
	default:
		return true;
	}
}

bool ahead_changes(const void *request, size_t len, uint64_t node)
{
	struct fuse_in_header head;

	memcpy(&head, request, sizeof(head));
	if (!changes_something(head.opcode))
		return false;
	return head.nodeid == node ||
	       second_node(request, len, head.opcode) == node;
}

void ahead_drop_changed(struct ahead_table *table, unsigned share,
			const void *request, size_t len)
{
	struct fuse_in_header head;

	if (!table->count)
		return;
	memcpy(&head, request, sizeof(head));
	if (!changes_something(head.opcode))
		return;
	ahead_drop(table, share, head.nodeid);
	ahead_drop(table, share, second_node(request, len, head.opcode));
}
