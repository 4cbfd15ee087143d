/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_tree.h - from a host name to the patterns that match it
 *
 * A tree of labels from the last to the first. A name is walked as far as some
 * rule's labels go; each node knows the next one above it that has a pattern
 * for everything below, so that only such are visited.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "policy/edge_table.h"

/* Entries are numbers of the caller's, 0 for none. */
struct name_node {
	uint32_t exact; /* x */
	uint32_t one;   /* *.x */
	uint32_t below; /* **.x; of the root: ** */
	uint32_t up;    /* itself if it has `below`, else the next above */
	uint32_t above; /* the next above that has `below`; 0: none */
};

struct name_tree {
	struct name_node *nodes; /* owned; the first is none, then the root */
	size_t count, room;
	struct edge_table edges;
};

#define NAME_TREE_ROOT 1u

struct name_match {
	uint32_t exact, one; /* entries */
	uint32_t up; /* a node: its `below`, then its `above`; 0: none */
};

void name_tree_init(struct name_tree *tree);
void name_tree_release(struct name_tree *tree);
/*
 * The node of a canonical name, made when there is none; its entries are the
 * caller's to set. The name must outlive the tree.
 */
uint32_t name_tree_node(struct name_tree *tree, const char *name);
/* After the last pattern was set. */
void name_tree_finish(struct name_tree *tree);
struct name_match name_tree_find(const struct name_tree *tree,
				 const char *name);
