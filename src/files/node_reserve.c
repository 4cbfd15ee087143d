/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_reserve.c - ids of nodes that are given before there is anything
 */
#include "files/node_table_internal.h"

uint64_t node_table_reserve(struct node_table *table, unsigned share)
{
	const struct node_key none = { .share = (uint8_t)share };
	struct node *node = node_take(table);

	if (!node)
		return 0;
	node_reset(node, &none, 0);
	node->flags = NODE_RESERVED;
	return node_table_id(table, node);
}

static struct node *find_reserved(struct node_table *table, unsigned share,
				  uint64_t id)
{
	uint32_t index = (uint32_t)id;
	struct node *node;

	if (index < FIRST_INDEX || index >= table->region->node_end)
		return NULL;
	node = node_at(table, index);
	if (node->flags != NODE_RESERVED || node->generation != id >> 32 ||
	    node->key.share != share)
		return NULL;
	return node;
}

bool node_table_is_reserved(struct node_table *table, unsigned share,
			    uint64_t id)
{
	return find_reserved(table, share, id);
}

struct node *node_table_claim(struct node_table *table, uint64_t id,
			      const struct node_key *key, uint16_t type)
{
	struct node *node = find_reserved(table, key->share, id);

	if (!node)
		return NULL;
	node->key = *key;
	node->type = type;
	node->lookups = 1;
	node->flags = NODE_LIVE;
	node_hash(table, node);
	table->region->live++;
	return node;
}

void node_table_unreserve(struct node_table *table, unsigned share, uint64_t id)
{
	struct node *node = find_reserved(table, share, id);

	if (node)
		node_give_back(table, node);
}

uint64_t node_table_next_reserved(struct node_table *table, uint32_t *at,
				  unsigned *share)
{
	if (*at < FIRST_INDEX)
		*at = FIRST_INDEX;
	while (*at < table->region->node_end) {
		const struct node *node = node_at(table, (*at)++);

		if (node->flags != NODE_RESERVED)
			continue;
		*share = node->key.share;
		return node_table_id(table, node);
	}
	return 0;
}
