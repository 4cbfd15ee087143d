/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_recover.c - a node table that a predecessor left, made fit for use
 *
 * The predecessor may have died anywhere in the code, or of something that a
 * guest did to it. So nothing is believed but the plain facts of a node (key,
 * type, count, generation, parent, name), and those only where they make sense;
 * chains, counts and free lists are made anew. A node that makes no sense is
 * gone: the guest gets ESTALE for it.
 */
#include "files/node_table_internal.h"

#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "files/fuse_decode.h"

static bool known_type(uint16_t type)
{
	return type == S_IFREG || type == S_IFDIR || type == S_IFLNK ||
	       type == S_IFIFO || type == S_IFSOCK || type == S_IFCHR ||
	       type == S_IFBLK;
}

/* Takes the name's blocks; false when it is broken or not all its own. */
static bool claim_name(struct region *region, const struct node *node,
		       uint8_t *taken)
{
	char name[NODE_NAME_MAX + 1];
	size_t len = 0;

	for (uint32_t i = node->name; i; i = region->blocks[i].next) {
		const struct name_block *block;

		if (i >= region->block_end || taken[i])
			return false;
		block = &region->blocks[i];
		if (!block->len || block->len > BLOCK_TEXT ||
		    len + block->len > NODE_NAME_MAX)
			return false;
		taken[i] = 1;
		memcpy(name + len, block->text, block->len);
		len += block->len;
		if (region->blocks[i].next >= region->block_end)
			return false;
	}
	name[len] = '\0';
	return strlen(name) == len && fuse_check_component(name) == 0;
}

static void check_node(struct region *region, struct node *node, uint32_t index,
		       uint8_t *taken)
{
	bool root = index < FIRST_INDEX;

	node->fd = node->watch = -1;
	node->newer = node->older = node->watch_next = node->refs = 0;
	node->used = node->hash_next = 0;
	node->fd_rights = 0;
	if (node->flags == NODE_RESERVED && !root && node->generation &&
	    node->key.share < NODE_SHARES_MAX) {
		node->lookups = 0;
		node->parent = node->name = 0;
		return;
	}
	node->flags &= NODE_LIVE | NODE_READ_ONLY | NODE_HELD;
	node->key.shadow = *(const uint8_t *)&node->key.shadow & 1;
	if (!(node->flags & NODE_LIVE))
		return;
	if (!known_type(node->type) || node->key.share >= NODE_SHARES_MAX ||
	    (root && node->key.share != index - 1) ||
	    (!root && !node->generation))
		node->flags = 0;
	if (root || node->parent >= region->node_end ||
	    !claim_name(region, node, taken))
		node->parent = node->name = 0;
}

/* A parent is a live folder of the same share, and the way up ends. */
static bool place_is_sound(struct region *region, const struct node *node)
{
	const struct node *at = node;

	for (int depth = 0; at->parent; depth++) {
		const struct node *up = &region->nodes[at->parent];

		if (depth > NODE_DEPTH_MAX || !(up->flags & NODE_LIVE) ||
		    up->type != S_IFDIR || up->key.share != node->key.share)
			return false;
		at = up;
	}
	return true;
}

static void link_node(struct node_table *table, struct node *node,
		      uint32_t index)
{
	struct region *region = table->region;
	uint32_t *bucket = &region->buckets[node_bucket(&node->key)];

	if (node_table_find(table, &node->key)) {
		node->flags = 0;
		return;
	}
	node->hash_next = *bucket;
	*bucket = index;
	region->live++;
}

static void free_unused(struct region *region)
{
	for (uint32_t i = FIRST_INDEX; i < region->node_end; i++) {
		struct node *node = &region->nodes[i];

		if (node->flags & (NODE_LIVE | NODE_RESERVED))
			continue;
		node->parent = node->name = 0;
		node->hash_next = region->node_free;
		region->node_free = i;
	}
}

/* A second pass, because a sound place needs its parents checked. */
static void link_all(struct node_table *table)
{
	struct region *region = table->region;
	uint32_t i;

	for (i = 1; i < region->node_end; i++) {
		if (region->nodes[i].flags & NODE_LIVE)
			link_node(table, &region->nodes[i], i);
	}
	for (i = FIRST_INDEX; i < region->node_end; i++) {
		struct node *node = &region->nodes[i];

		if ((node->flags & NODE_LIVE) && node->parent &&
		    !place_is_sound(region, node))
			node->parent = node->name = 0;
	}
	for (i = FIRST_INDEX; i < region->node_end; i++) {
		struct node *node = &region->nodes[i];

		if ((node->flags & NODE_LIVE) && node->parent)
			region->nodes[node->parent].refs++;
	}
}

static void free_blocks(struct region *region, uint8_t *taken)
{
	memset(taken, 0, NAME_BLOCKS);
	for (uint32_t n = FIRST_INDEX; n < region->node_end; n++) {
		if (!(region->nodes[n].flags & NODE_LIVE))
			continue;
		for (uint32_t i = region->nodes[n].name; i;
		     i = region->blocks[i].next)
			taken[i] = 1;
	}
	for (uint32_t i = 1; i < region->block_end; i++) {
		if (taken[i])
			continue;
		region->blocks[i].next = region->block_free;
		region->block_free = i;
	}
}

void node_table_recover(struct node_table *table)
{
	AUTO_FREE uint8_t *taken = xcalloc(NAME_BLOCKS, 1);
	struct region *region = table->region;

	if (region->node_end < FIRST_INDEX || region->node_end > NODE_NODES_MAX)
		region->node_end = NODE_NODES_MAX;
	if (region->block_end < 1 || region->block_end > NAME_BLOCKS)
		region->block_end = NAME_BLOCKS;
	region->node_free = region->block_free = region->live = 0;
	memset(region->buckets, 0, sizeof(region->buckets));
	for (uint32_t i = 1; i < region->node_end; i++)
		check_node(region, &region->nodes[i], i, taken);
	link_all(table);
	free_unused(region);
	free_blocks(region, taken);
	for (uint32_t i = FIRST_INDEX; i < region->node_end; i++) {
		if (region->nodes[i].flags & NODE_LIVE)
			node_table_forget(table, &region->nodes[i], 0);
	}
}
