/* SPDX-License-Identifier: Apache-2.0 */
/*
 * name_tree.c - from a host name to the patterns that match it
 */
#include "policy/name_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define ROOM_FIRST 64

/* Parents come before their children: `above` needs one pass only. */
static uint32_t new_node(struct name_tree *tree, uint32_t parent)
{
	if (tree->count == tree->room) {
		tree->room *= 2;
		tree->nodes = xrealloc(tree->nodes,
				       tree->room * sizeof(*tree->nodes));
	}
	tree->nodes[tree->count] = (struct name_node){ .above = parent };
	return (uint32_t)tree->count++;
}

void name_tree_init(struct name_tree *tree)
{
	*tree = (struct name_tree){ .room = ROOM_FIRST };
	tree->nodes = xcalloc(tree->room, sizeof(*tree->nodes));
	tree->count = NAME_TREE_ROOT;
	edge_table_init(&tree->edges);
	(void)new_node(tree, 0);
}

void name_tree_release(struct name_tree *tree)
{
	free(tree->nodes);
	edge_table_release(&tree->edges);
	*tree = (struct name_tree){ 0 };
}

/* The label that ends at `end`. */
static inline struct edge_key label_before(const char *name, const char *end)
{
	const char *dot = memrchr(name, '.', (size_t)(end - name));
	const char *start = dot ? dot + 1 : name;

	return edge_key_of(start, (size_t)(end - start));
}

uint32_t name_tree_node(struct name_tree *tree, const char *name)
{
	const char *end = name + strlen(name);
	uint32_t node = NAME_TREE_ROOT;

	for (;;) {
		struct edge_key key = label_before(name, end);
		uint32_t child =
			edge_table_find(&tree->edges, node, &key, EDGE_EXACT);

		if (!child) {
			child = new_node(tree, node);
			edge_table_add(&tree->edges, node, &key, child);
		}
		node = child;
		if (key.text == name)
			return node;
		end = key.text - 1;
	}
}

void name_tree_finish(struct name_tree *tree)
{
	for (uint32_t i = NAME_TREE_ROOT; i < tree->count; i++) {
		struct name_node *node = &tree->nodes[i];

		node->above = tree->nodes[node->above].up;
		node->up = node->below ? i : node->above;
	}
}

struct name_match name_tree_find(const struct name_tree *tree, const char *name)
{
	const char *end = name + strlen(name);
	const struct name_node *node = &tree->nodes[NAME_TREE_ROOT];
	uint32_t number = NAME_TREE_ROOT, child;
	struct edge_key key;

	for (;;) {
		key = label_before(name, end);
		child = edge_table_find(&tree->edges, number, &key, EDGE_EXACT);
		if (!child || key.text == name)
			break;
		number = child;
		node = &tree->nodes[number];
		end = key.text - 1;
	}
	return (struct name_match){
		.exact = child ? tree->nodes[child].exact : 0,
		.one = key.text == name ? node->one : 0,
		.up = node->up,
	};
}
