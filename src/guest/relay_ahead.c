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

/* As many names as a folder may get before it counts as any other. */
#define FRESH_BYTES (64U * sizeof(uint32_t))
#define FRESH_BYTES_MAX (2048U * sizeof(uint32_t))

struct ahead {
	struct list order;
	struct ahead *next; /* of the same bucket */
	uint64_t node, offset;
	/* FUSE_READ, _READDIR, _LOOKUP, _GETATTR; _MKDIR: it was empty, and
	 * the bytes are hashes of the names that came into it since */
	uint32_t opcode;
	uint32_t len, room;
	uint8_t share;
	uint8_t *bytes; /* owned */
};

void ahead_init(struct ahead_table *table)
{
	*table = (struct ahead_table){ 0 };
	list_init(&table->order);
}

static struct ahead **bucket_of(struct ahead_table *table, unsigned share,
				uint64_t node)
{
	return &table->buckets[record_bucket(share, node, AHEAD_BUCKETS)];
}

static void discard(struct ahead_table *table, struct ahead **link)
{
	struct ahead *ahead = *link;

	*link = ahead->next;
	list_remove(&ahead->order);
	table->bytes -= sizeof(*ahead) + ahead->room;
	table->count--;
	free(ahead->bytes);
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
	    ahead->opcode != FUSE_LOOKUP && ahead->opcode != FUSE_GETATTR &&
	    ahead->opcode != FUSE_MKDIR)
		return NULL;
	if (ahead->opcode == FUSE_MKDIR && ahead->len)
		return NULL;
	if (ahead->opcode == FUSE_GETATTR &&
	    (ahead->offset || ahead->len != sizeof(struct fuse_attr_out)))
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
	head.room = head.opcode == FUSE_MKDIR ? FRESH_BYTES : head.len;
	ahead = xmalloc(sizeof(*ahead));
	*ahead = head;
	ahead->share = (uint8_t)share;
	ahead->bytes = xmalloc(head.room + 1);
	memcpy(ahead->bytes, bytes, head.len);
	bucket = bucket_of(table, share, head.node);
	ahead->next = *bucket;
	*bucket = ahead;
	list_append(&table->order, &ahead->order);
	table->bytes += sizeof(*ahead) + ahead->room;
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

	if (link && (*link)->opcode == FUSE_READ &&
	    (in.offset >= (*link)->len || in.size >= (*link)->len - in.offset))
		discard(table, link);
}

bool ahead_take_attr(struct ahead_table *table, unsigned share, uint64_t node,
		     void *attr)
{
	struct ahead **link = bucket_of(table, share, node);

	for (; *link; link = &(*link)->next) {
		const struct ahead *ahead = *link;

		if (ahead->node != node || ahead->share != share ||
		    ahead->opcode != FUSE_GETATTR)
			continue;
		memcpy(attr, ahead->bytes, sizeof(struct fuse_attr_out));
		discard(table, link);
		return true;
	}
	return false;
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

/*
 * A folder of the host may take `a` for `A`, and other signs for others still:
 * the first are the same here, of the others only the server can tell.
 */
static bool is_plain(const char *name)
{
	while (*name && !((uint8_t)*name & 0x80))
		name++;
	return !*name;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 2166136261U;

	for (; *name; name++) {
		uint8_t c = (uint8_t)*name;

		if (c >= 'A' && c <= 'Z')
			c |= 0x20;
		hash = (hash ^ c) * 16777619U;
	}
	return hash;
}

static bool has_hash(const struct ahead *ahead, uint32_t hash)
{
	for (uint32_t at = 0; at < ahead->len; at += sizeof(hash)) {
		if (memcmp(ahead->bytes + at, &hash, sizeof(hash)) == 0)
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
	    ((const char *)request)[len - 1] || strlen(name) > AHEAD_NAME_MAX)
		return false;
	memcpy(&head, request, sizeof(head));
	ahead = *bucket_of(table, share, head.nodeid);
	for (; ahead; ahead = ahead->next) {
		if (ahead->node != head.nodeid || ahead->share != share)
			continue;
		*seconds = ahead->offset;
		if (ahead->opcode == FUSE_MKDIR && is_plain(name) &&
		    !has_hash(ahead, hash_of(name)))
			return true;
		if (ahead->opcode == FUSE_LOOKUP && has_name(ahead, name))
			return true;
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

bool ahead_changed_nodes(const void *request, size_t len, uint64_t nodes[2])
{
	struct fuse_in_header head;

	memcpy(&head, request, sizeof(head));
	if (!changes_something(head.opcode))
		return false;
	nodes[0] = head.nodeid;
	nodes[1] = second_node(request, len, head.opcode);
	return true;
}

bool ahead_changes(const void *request, size_t len, uint64_t node)
{
	uint64_t nodes[2];

	return ahead_changed_nodes(request, len, nodes) &&
	       (nodes[0] == node || nodes[1] == node);
}

/* The name that a request adds to the header's folder; NULL: none. */
static const char *added_name(const void *request, size_t len, uint32_t opcode)
{
	size_t at = sizeof(struct fuse_in_header);

	switch (opcode) {
	case FUSE_CREATE:
		at += sizeof(struct fuse_create_in);
		break;
	case FUSE_MKNOD:
		at += sizeof(struct fuse_mknod_in);
		break;
	case FUSE_MKDIR:
		at += sizeof(struct fuse_mkdir_in);
		break;
	case FUSE_SYMLINK:
		break;
	default:
		return NULL;
	}
	if (at >= len || ((const char *)request)[len - 1])
		return NULL;
	return (const char *)request + at;
}

bool ahead_is_unused(struct ahead_table *table, unsigned share,
		     const void *request, size_t len, uint64_t *seconds)
{
	const char *name = added_name(request, len, FUSE_CREATE);
	struct fuse_in_header head;
	struct ahead *ahead;

	if (!table->count || !name || strlen(name) > AHEAD_NAME_MAX ||
	    !is_plain(name))
		return false;
	memcpy(&head, request, sizeof(head));
	ahead = *bucket_of(table, share, head.nodeid);
	while (ahead && (ahead->opcode != FUSE_MKDIR ||
			 ahead->node != head.nodeid || ahead->share != share))
		ahead = ahead->next;
	if (!ahead || has_hash(ahead, hash_of(name)))
		return false;
	*seconds = ahead->offset;
	return true;
}

/* What was empty goes on to be known when this request is done. */
static bool stays_fresh(struct ahead_table *table, struct ahead *fresh,
			const void *request, size_t len, uint32_t opcode)
{
	const char *name = added_name(request, len, opcode);
	uint32_t hash;

	/* They change no name, or take one away; that one is asked for. */
	if (opcode == FUSE_SETATTR || opcode == FUSE_UNLINK ||
	    opcode == FUSE_RMDIR)
		return true;
	if (!name || !is_plain(name) || fresh->len == FRESH_BYTES_MAX)
		return false;
	if (fresh->len == fresh->room) {
		table->bytes += fresh->room;
		fresh->room *= 2;
		fresh->bytes = xrealloc(fresh->bytes, fresh->room + 1);
	}
	hash = hash_of(name);
	memcpy(fresh->bytes + fresh->len, &hash, sizeof(hash));
	fresh->len += sizeof(hash);
	return true;
}

void ahead_drop_changed(struct ahead_table *table, unsigned share,
			const void *request, size_t len)
{
	struct fuse_in_header head;
	struct ahead **link;

	if (!table->count)
		return;
	memcpy(&head, request, sizeof(head));
	if (!changes_something(head.opcode))
		return;
	link = bucket_of(table, share, head.nodeid);
	while (*link) {
		struct ahead *ahead = *link;

		if (ahead->node != head.nodeid || ahead->share != share ||
		    (ahead->opcode == FUSE_MKDIR &&
		     stays_fresh(table, ahead, request, len, head.opcode)))
			link = &ahead->next;
		else
			discard(table, link);
	}
	ahead_drop(table, share, second_node(request, len, head.opcode));
}
