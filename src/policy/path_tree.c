/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_tree.c - all rules with a method or a path, as one tree of segments
 */
#include "policy/path_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define GROW_FIRST 64
#define GLOBS_FEW 4 /* no more are tried one by one */

struct segment {
	const char *text;
	size_t len;
};

static void *grown(void *list, size_t count, size_t *room, size_t size)
{
	if (count < *room)
		return list;
	*room = *room ? *room * 2 : GROW_FIRST;
	return xrealloc(list, *room * size);
}

void path_tree_init(struct path_tree *tree)
{
	*tree = (struct path_tree){ .node_count = 1, .glob_count = 1 };
	edge_table_init(&tree->edges);
}

static uint32_t new_node(struct path_tree *tree, const struct path_node *node)
{
	tree->nodes = grown(tree->nodes, tree->node_count, &tree->node_room,
			    sizeof(*tree->nodes));
	tree->nodes[tree->node_count] = *node;
	return (uint32_t)tree->node_count++;
}

/* Nodes move when there are more: they are named by number. */
static uint32_t new_child(struct path_tree *tree, uint32_t parent)
{
	struct path_node child = { .denies = tree->nodes[parent].denies,
				   .exact = tree->nodes[parent].exact,
				   .first = UINT32_MAX,
				   .low = UINT16_MAX };

	tree->nodes[parent].inner = true;
	return new_node(tree, &child);
}

uint32_t path_tree_root(struct path_tree *tree, bool denies, bool exact)
{
	struct path_node root = { .denies = denies,
				  .exact = exact,
				  .first = UINT32_MAX,
				  .low = UINT16_MAX };
	uint32_t number = new_node(tree, &root), blind;

	if (denies) {
		blind = new_child(tree, number);
		tree->nodes[number].blind = blind;
	}
	return number;
}

static uint32_t deep_child(struct path_tree *tree, uint32_t parent)
{
	uint32_t child = tree->nodes[parent].deep;

	if (!child) {
		child = new_child(tree, parent);
		tree->nodes[parent].deep = child;
	}
	return child;
}

static uint32_t any_child(struct path_tree *tree, uint32_t parent)
{
	uint32_t child = tree->nodes[parent].any;

	if (!child) {
		child = new_child(tree, parent);
		tree->nodes[parent].any = child;
	}
	return child;
}

static uint32_t literal_child(struct path_tree *tree, uint32_t parent,
			      const struct segment *segment)
{
	enum edge_case how =
		tree->nodes[parent].denies ? EDGE_FOLD : EDGE_EXACT;
	struct edge_key key = edge_key_of(segment->text, segment->len);
	uint32_t child = edge_table_find(&tree->edges, parent, &key, how);

	if (!child) {
		child = new_child(tree, parent);
		tree->nodes[parent].literals |= path_literal_bit(key.hash);
		edge_table_add(&tree->edges, parent, &key, child);
	}
	return child;
}

static uint32_t new_glob(struct path_tree *tree, uint32_t parent,
			 const struct segment *text)
{
	const char *star = memchr(text->text, '*', text->len);
	struct path_glob_edge glob = {
		.text = text->text,
		.len = (uint32_t)text->len,
		.before = (uint32_t)(star - text->text),
		.next = tree->nodes[parent].globs,
	};

	tree->globs = grown(tree->globs, tree->glob_count, &tree->glob_room,
			    sizeof(*tree->globs));
	glob.node = new_child(tree, parent);
	tree->globs[tree->glob_count] = glob;
	tree->nodes[parent].globs = (uint32_t)tree->glob_count;
	return (uint32_t)tree->glob_count++;
}

static uint32_t glob_child(struct path_tree *tree, uint32_t parent,
			   const struct segment *segment)
{
	enum edge_case how =
		tree->nodes[parent].denies ? EDGE_FOLD : EDGE_EXACT;
	struct edge_key key = edge_key_of(segment->text, segment->len);
	uint32_t glob =
		edge_table_find(&tree->edges, parent | PATH_BY_TEXT, &key, how);

	if (!glob) {
		glob = new_glob(tree, parent, segment);
		edge_table_add(&tree->edges, parent | PATH_BY_TEXT, &key, glob);
	}
	return tree->globs[glob].node;
}

static uint32_t child_of(struct path_tree *tree, uint32_t parent,
			 const struct segment *segment)
{
	if (segment->len == 2 && memcmp(segment->text, "**", 2) == 0)
		return deep_child(tree, parent);
	if (segment->len == 1 && segment->text[0] == '*')
		return any_child(tree, parent);
	if (memchr(segment->text, '*', segment->len))
		return glob_child(tree, parent, segment);
	return literal_child(tree, parent, segment);
}

/* The rule is beneath this node, or ends there. */
static void widen(struct path_node *node, const struct port_item *rule)
{
	node->methods |= rule->mask;
	if (rule->rule < node->first)
		node->first = rule->rule;
	if (rule->low < node->low)
		node->low = rule->low;
	if (rule->high > node->high)
		node->high = rule->high;
}

/* The node at which a path that matches ends. */
static uint32_t node_of(struct path_tree *tree, uint32_t root, const char *glob,
			const struct port_item *rule)
{
	const char *at = glob + 1;
	uint32_t node = root;

	for (;;) {
		struct segment segment = { at, strcspn(at, "/") };

		if (segment.len > 0 || !tree->nodes[root].denies) {
			node = child_of(tree, node, &segment);
			widen(&tree->nodes[node], rule);
		}
		at += segment.len;
		if (*at++ == '\0')
			return node;
	}
}

void path_tree_add(struct path_tree *tree, uint32_t root, const char *glob,
		   const struct port_item *rule)
{
	struct port_item item = *rule;

	widen(&tree->nodes[root], rule);
	item.owner =
		glob ? node_of(tree, root, glob, rule) : deep_child(tree, root);
	widen(&tree->nodes[item.owner], rule);
	tree->nodes[item.owner].ends = true;
	port_items_add(&tree->items, &item);
	if (glob && tree->nodes[root].denies) {
		item.owner = tree->nodes[root].blind;
		port_items_add(&tree->items, &item);
	}
}

/* By its longer plain end, so that as few as possible share a key. */
static uint32_t glob_key(uint32_t parent, const struct path_glob_edge *glob,
			 struct edge_key *key)
{
	size_t before = glob->before, behind = glob->len - before - 1;

	if (before >= behind) {
		if (before > PATH_FIXED_MAX)
			before = PATH_FIXED_MAX;
		*key = edge_key_of(glob->text, before);
		return parent | PATH_BY_PREFIX;
	}
	if (behind > PATH_FIXED_MAX)
		behind = PATH_FIXED_MAX;
	*key = edge_key_of(glob->text + glob->len - behind, behind);
	return parent | PATH_BY_SUFFIX;
}

static void index_glob(struct path_tree *tree, uint32_t parent, uint32_t number)
{
	struct path_glob_edge *glob = &tree->globs[number];
	struct path_node *node = &tree->nodes[parent];
	struct edge_key key;
	uint32_t from = glob_key(parent, glob, &key);
	uint32_t first = edge_table_find(&tree->edges, from, &key,
					 node->denies ? EDGE_FOLD : EDGE_EXACT);

	if (first) {
		glob->next = tree->globs[first].next;
		tree->globs[first].next = number;
		return;
	}
	glob->next = 0;
	edge_table_add(&tree->edges, from, &key, number);
	if (from & PATH_BY_PREFIX)
		node->prefixes |= (uint64_t)1 << key.len;
	else
		node->suffixes |= (uint64_t)1 << key.len;
}

static void index_globs(struct path_tree *tree, uint32_t parent)
{
	uint32_t glob = tree->nodes[parent].globs, count = 0;

	for (uint32_t at = glob; at && count <= GLOBS_FEW; count++)
		at = tree->globs[at].next;
	if (count <= GLOBS_FEW)
		return;
	tree->nodes[parent].indexed = true;
	while (glob) {
		uint32_t next = tree->globs[glob].next;

		index_glob(tree, parent, glob);
		glob = next;
	}
}

void path_tree_finish(struct path_tree *tree)
{
	for (uint32_t i = 1; i < tree->node_count; i++)
		index_globs(tree, i);
	port_index_build(&tree->ports, &tree->items,
			 (uint32_t)tree->node_count);
	port_items_release(&tree->items);
}

void path_tree_release(struct path_tree *tree)
{
	free(tree->nodes);
	free(tree->globs);
	edge_table_release(&tree->edges);
	port_items_release(&tree->items);
	port_index_release(&tree->ports);
	*tree = (struct path_tree){ 0 };
}
