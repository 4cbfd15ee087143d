/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_writes.c - changes that were called done before they were
 */
#include "guest/relay_writes.h"

#include <stdlib.h>

#include "base/mem.h"
#include "proto/record.h"

struct writes_error {
	struct writes_error *next; /* of the same bucket */
	uint64_t node;
	unsigned share;
	int error;
};

void writes_init(struct writes *writes)
{
	*writes = (struct writes){ 0 };
}

static struct writes_error **find(struct writes *writes, unsigned share,
				  uint64_t node)
{
	struct writes_error **link =
		&writes->buckets[record_bucket(share, node, WRITES_BUCKETS)];

	while (*link && ((*link)->node != node || (*link)->share != share))
		link = &(*link)->next;
	return link;
}

void writes_release(struct writes *writes)
{
	for (unsigned i = 0; i < WRITES_BUCKETS; i++) {
		while (writes->buckets[i]) {
			struct writes_error *entry = writes->buckets[i];

			writes->buckets[i] = entry->next;
			free(entry);
		}
	}
	writes->errors = 0;
}

bool writes_may_answer(struct writes *writes, unsigned share, uint64_t node)
{
	return !writes->errors || !*find(writes, share, node);
}

void writes_failed(struct writes *writes, unsigned share, uint64_t node,
		   int error)
{
	struct writes_error **link = find(writes, share, node);

	if (!error || *link || writes->errors == WRITES_ERRORS_MAX)
		return;
	*link = xcalloc(1, sizeof(**link));
	(*link)->node = node;
	(*link)->share = share;
	(*link)->error = error;
	writes->errors++;
}

int writes_take_error(struct writes *writes, unsigned share, uint64_t node)
{
	struct writes_error **link, *entry;
	int error;

	if (!writes->errors)
		return 0;
	link = find(writes, share, node);
	entry = *link;
	if (!entry)
		return 0;
	error = entry->error;
	*link = entry->next;
	free(entry);
	writes->errors--;
	return error;
}

void writes_forget(struct writes *writes, unsigned share, uint64_t node)
{
	writes_take_error(writes, share, node);
}
