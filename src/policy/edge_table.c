/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_table.c - the children of all nodes of a tree in one hash table
 */
#include "policy/edge_table.h"

#include <stdlib.h>

#include "base/mem.h"

#define SLOTS_FIRST 64
#define SLOTS_EACH 4 /* for an edge: few marks stand behind their slot */

void edge_table_init(struct edge_table *table)
{
	*table = (struct edge_table){ .mask = SLOTS_FIRST - 1,
				      .room = SLOTS_FIRST / SLOTS_EACH };
	table->slots = xcalloc(SLOTS_FIRST, sizeof(*table->slots));
	table->edges = xcalloc(table->room, sizeof(*table->edges));
}

void edge_table_release(struct edge_table *table)
{
	free(table->slots);
	free(table->edges);
	*table = (struct edge_table){ 0 };
}

static void place(struct edge_table *table, struct edge_slot slot)
{
	uint32_t at = slot.mark & table->mask;

	while (table->slots[at].mark)
		at = (at + 1) & table->mask;
	table->slots[at] = slot;
}

static void grow(struct edge_table *table)
{
	struct edge_slot *old = table->slots;
	uint32_t count = table->mask + 1;

	table->room *= 2;
	table->edges =
		xrealloc(table->edges, table->room * sizeof(*table->edges));
	table->mask = 2 * count - 1;
	table->slots = xcalloc((size_t)count * 2, sizeof(*table->slots));
	for (uint32_t i = 0; i < count; i++) {
		if (old[i].mark)
			place(table, old[i]);
	}
	free(old);
}

void edge_table_add(struct edge_table *table, uint32_t parent,
		    const struct edge_key *key, uint32_t child)
{
	struct edge_slot slot = { edge_mark(key->hash, parent), table->count };

	if (table->count == table->room)
		grow(table);
	table->edges[table->count++] = (struct edge){
		.key = *key,
		.parent = parent,
		.child = child,
	};
	place(table, slot);
}
