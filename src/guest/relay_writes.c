/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_writes.c - writes that were called done before they were
 */
#include "guest/relay_writes.h"

#include <stdlib.h>

#include "base/list.h"
#include "base/mem.h"

struct writes_node {
	struct writes_node *next; /* of the same bucket */
	uint64_t node;
	uint64_t sent, answered;
	struct list flushes; /* oldest first */
	int error;
	unsigned share;
};

struct flush {
	struct list link;
	uint64_t unique;
	uint64_t until; /* so many answers */
};

void writes_init(struct writes *writes, writes_flushed_fn *on_flushed,
		 void *ctx)
{
	*writes = (struct writes){ .on_flushed = on_flushed, .ctx = ctx };
}

static struct writes_node **find(struct writes *writes, unsigned share,
				 uint64_t node)
{
	struct writes_node **link =
		&writes->buckets[(node + share * 61) % WRITES_BUCKETS];

	while (*link && ((*link)->node != node || (*link)->share != share))
		link = &(*link)->next;
	return link;
}

static struct writes_node *make(struct writes_node **link, unsigned share,
				uint64_t node)
{
	struct writes_node *entry = *link;

	if (entry)
		return entry;
	entry = xcalloc(1, sizeof(*entry));
	entry->share = share;
	entry->node = node;
	list_init(&entry->flushes);
	*link = entry;
	return entry;
}

static void drop_if_done(struct writes_node **link)
{
	struct writes_node *entry = *link;

	if (entry->sent != entry->answered || entry->error)
		return;
	*link = entry->next;
	free(entry);
}

static int take_error(struct writes *writes, struct writes_node *entry)
{
	int error = entry->error;

	if (error)
		writes->errors--;
	entry->error = 0;
	return error;
}

void writes_release(struct writes *writes)
{
	for (unsigned i = 0; i < WRITES_BUCKETS; i++) {
		while (writes->buckets[i]) {
			struct writes_node *entry = writes->buckets[i];

			LIST_FOR_EACH(node, &entry->flushes)
				free(LIST_ENTRY(node, struct flush, link));
			writes->buckets[i] = entry->next;
			free(entry);
		}
	}
}

bool writes_may_answer(struct writes *writes, unsigned share, uint64_t node)
{
	struct writes_node *entry;

	if (!writes->errors)
		return true;
	entry = *find(writes, share, node);
	return !entry || !entry->error;
}

void writes_sent(struct writes *writes, unsigned share, uint64_t node)
{
	make(find(writes, share, node), share, node)->sent++;
}

static void answer_flushes(struct writes *writes, struct writes_node *entry)
{
	LIST_FOR_EACH(node, &entry->flushes) {
		struct flush *flush = LIST_ENTRY(node, struct flush, link);

		if (flush->until > entry->answered)
			return;
		list_remove(&flush->link);
		writes->flushes--;
		writes->on_flushed(writes->ctx, entry->share, flush->unique,
				   take_error(writes, entry));
		free(flush);
	}
}

void writes_answered(struct writes *writes, unsigned share, uint64_t node,
		     int error)
{
	struct writes_node **link = find(writes, share, node);
	struct writes_node *entry = *link;

	if (!entry || entry->answered == entry->sent)
		return;
	entry->answered++;
	if (error && !entry->error && writes->errors < WRITES_ERRORS_MAX) {
		entry->error = error;
		writes->errors++;
	}
	answer_flushes(writes, entry);
	drop_if_done(link);
}

int writes_flush(struct writes *writes, unsigned share, uint64_t node,
		 uint64_t unique)
{
	struct writes_node **link = find(writes, share, node);
	struct writes_node *entry = *link;
	struct flush *flush;
	int error;

	if (!entry)
		return 0;
	if (entry->answered == entry->sent) {
		error = take_error(writes, entry);
		drop_if_done(link);
		return error;
	}
	flush = xmalloc(sizeof(*flush));
	flush->unique = unique;
	flush->until = entry->sent;
	list_append(&entry->flushes, &flush->link);
	writes->flushes++;
	return -1;
}

int writes_take_error(struct writes *writes, unsigned share, uint64_t node)
{
	struct writes_node **link;
	int error;

	if (!writes->errors)
		return 0;
	link = find(writes, share, node);
	if (!*link)
		return 0;
	error = take_error(writes, *link);
	drop_if_done(link);
	return error;
}

void writes_forget(struct writes *writes, unsigned share, uint64_t node)
{
	writes_take_error(writes, share, node);
}
