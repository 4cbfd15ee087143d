/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_pending.c - requests that the server has not answered yet
 */
#include "guest/relay_pending.h"

#include <linux/fuse.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "guest/word_copy.h"
#include "proto/record.h"

static const struct {
	size_t bytes;
	unsigned spare_max;
} classes[PENDING_OTHER] = {
	[PENDING_SMALL] = { 512, PENDING_MAX },
	[PENDING_MEDIUM] = { 8192, 64 },
	[PENDING_LARGE] = { RECORD_PAYLOAD_MAX, 8 },
};

void pending_init(struct pending_table *table)
{
	*table = (struct pending_table){ 0 };
	list_init(&table->order);
}

void pending_release(struct pending_table *table)
{
	LIST_FOR_EACH(node, &table->order)
		pending_remove(table, LIST_ENTRY(node, struct pending, order));
	free(table->reserve);
	table->reserve = NULL;
	for (unsigned i = 0; i < PENDING_OTHER; i++) {
		while (table->spare[i]) {
			struct pending *next = table->spare[i]->next;

			free(table->spare[i]);
			table->spare[i] = next;
		}
	}
}

bool pending_has_room(const struct pending_table *table)
{
	return table->count < PENDING_MAX &&
	       table->writes < PENDING_WRITES_MAX &&
	       table->write_bytes < PENDING_WRITE_BYTES_MAX &&
	       table->read_bytes < PENDING_READ_BYTES_MAX;
}

static struct pending **bucket_of(struct pending_table *table, unsigned share,
				  uint64_t unique)
{
	/* The kernel counts in steps of two. */
	return &table->buckets[record_bucket(share, unique / 2,
					     PENDING_BUCKETS)];
}

static enum pending_class class_of(size_t len)
{
	if (len <= classes[PENDING_SMALL].bytes)
		return PENDING_SMALL;
	if (len <= classes[PENDING_MEDIUM].bytes)
		return PENDING_MEDIUM;
	return len >= PENDING_LARGE_FROM && len <= classes[PENDING_LARGE].bytes
		       ? PENDING_LARGE
		       : PENDING_OTHER;
}

static struct pending *allocate(struct pending_table *table, size_t len)
{
	enum pending_class class = class_of(len);
	struct pending *pending;

	if (class == PENDING_OTHER)
		return xmalloc(sizeof(*pending) + len);
	pending = table->spare[class];
	if (!pending)
		return xmalloc(sizeof(*pending) + classes[class].bytes);
	table->spare[class] = pending->next;
	table->spare_count[class]--;
	return pending;
}

static void give_back(struct pending_table *table, struct pending *pending)
{
	enum pending_class class = class_of(pending->len);

	if (class == PENDING_OTHER ||
	    table->spare_count[class] >= classes[class].spare_max) {
		free(pending);
		return;
	}
	pending->next = table->spare[class];
	table->spare[class] = pending;
	table->spare_count[class]++;
}

static uint32_t wanted_by(const struct pending *pending)
{
	struct fuse_read_in in;

	if (pending->opcode != FUSE_READ ||
	    pending->len < sizeof(struct fuse_in_header) + sizeof(in))
		return 0;
	memcpy(&in, pending->bytes + sizeof(struct fuse_in_header), sizeof(in));
	return in.size;
}

static struct pending *insert(struct pending_table *table, unsigned share,
			      struct pending *pending, size_t len)
{
	struct pending **bucket;
	struct fuse_in_header head;

	memcpy(&head, pending->bytes, sizeof(head));
	pending->unique = head.unique;
	pending->node = head.nodeid;
	pending->opcode = head.opcode;
	pending->share = (uint8_t)share;
	pending->answered = pending->sent = pending->in_bulk = false;
	pending->promised = 0;
	pending->len = (uint32_t)len;
	pending->wanted = wanted_by(pending);
	bucket = bucket_of(table, share, head.unique);
	pending->next = *bucket;
	*bucket = pending;
	list_append(&table->order, &pending->order);
	table->count++;
	if (head.opcode == FUSE_WRITE) {
		table->writes++;
		table->write_bytes += len;
	}
	table->read_bytes += pending->wanted;
	return pending;
}

struct pending *pending_add(struct pending_table *table, unsigned share,
			    const void *bytes, size_t len)
{
	struct pending *pending = allocate(table, len);

	word_copy(pending->bytes, bytes, len);
	return insert(table, share, pending, len);
}

uint8_t *pending_reserve(struct pending_table *table)
{
	if (!table->reserve)
		table->reserve = allocate(table, classes[PENDING_LARGE].bytes);
	return table->reserve->bytes;
}

struct pending *pending_add_reserved(struct pending_table *table,
				     unsigned share, size_t len)
{
	struct pending *pending = table->reserve;

	table->reserve = NULL;
	return insert(table, share, pending, len);
}

struct pending *pending_find(struct pending_table *table, unsigned share,
			     uint64_t unique)
{
	struct pending *pending = *bucket_of(table, share, unique);

	while (pending &&
	       (pending->unique != unique || pending->share != share))
		pending = pending->next;
	return pending;
}

static struct pending *after(struct pending_table *table,
			     struct pending *pending)
{
	struct list *next = pending->order.next;

	return next == &table->order ? NULL
				     : LIST_ENTRY(next, struct pending, order);
}

void pending_remove(struct pending_table *table, struct pending *pending)
{
	struct pending **link =
		bucket_of(table, pending->share, pending->unique);

	while (*link != pending)
		link = &(*link)->next;
	*link = pending->next;
	if (table->resend == pending)
		table->resend = after(table, pending);
	list_remove(&pending->order);
	table->count--;
	if (pending->opcode == FUSE_WRITE) {
		table->writes--;
		table->write_bytes -= pending->len;
	}
	if (pending->answered)
		table->answered--;
	table->read_bytes -= pending->wanted;
	give_back(table, pending);
}

void pending_answer(struct pending_table *table, struct pending *pending)
{
	if (!pending->answered)
		table->answered++;
	pending->answered = true;
}

void pending_rewind(struct pending_table *table)
{
	table->resend =
		list_empty(&table->order)
			? NULL
			: LIST_ENTRY(table->order.next, struct pending, order);
}

void pending_delay(struct pending_table *table, struct pending *pending)
{
	table->resend = pending;
}

struct pending *pending_next(struct pending_table *table)
{
	struct pending *pending = table->resend;

	if (pending)
		table->resend = after(table, pending);
	return pending;
}
