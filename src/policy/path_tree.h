/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_tree.h - all rules with a method or a path, as one tree of segments
 *
 * Each host pattern has a root for what it denies and one for what it allows.
 * A request walks from several roots at once: after each segment there is a set
 * of nodes that the path so far leads to. Literal segments are found by hash,
 * and so are those with a `*` in them, by what stands before or behind it; the
 * cost depends on how many rules go on matching, not on how many there are.
 *
 * Servers read paths more loosely than rules are written, so a path that is
 * denied is compared more loosely: letters in either case, and empty segments
 * do not count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/edge_table.h"
#include "policy/port_index.h"

struct path_node {
	uint64_t literals; /* bit n: a child's text has such a hash */
	uint64_t prefixes; /* bit n: globs that begin with n plain bytes */
	uint64_t suffixes; /* bit n: globs that end with n plain bytes */
	uint32_t any;      /* child for a segment `*`, or 0 */
	uint32_t deep;     /* child for `**`, or 0 */
	uint32_t globs;    /* the first glob; few are tried one by one */
	uint32_t blind;    /* of a root that denies: owner of all its paths */
	/* Of all rules that end here or beneath. */
	uint32_t first; /* the smallest number */
	uint32_t methods;
	uint16_t low, high; /* ports */
	bool denies;
	bool exact;   /* of a host pattern without wildcard */
	bool inner;   /* has children */
	bool ends;    /* rules end here */
	bool indexed; /* its globs are many: see prefixes and suffixes */
};

/* A segment with a `*` in it. */
struct path_glob_edge {
	const char *text; /* borrowed */
	uint32_t len;
	uint32_t before; /* bytes before the star */
	uint32_t node;   /* where it leads */
	uint32_t next;   /* of the same node, or found by the same key; or 0 */
};

struct path_tree {
	struct path_node *nodes;      /* owned; the first is none */
	struct path_glob_edge *globs; /* owned; the first is none */
	size_t node_count, node_room, glob_count, glob_room;
	struct edge_table edges;
	struct port_items items; /* until it is finished */
	struct port_index ports; /* of a node: rules that end there */
};

/* Keys of globs: their node's number with a bit; by all of their text... */
#define PATH_BY_TEXT (1u << 29)
/* ... or by what stands before the star, or behind it. */
#define PATH_BY_PREFIX (1u << 30)
#define PATH_BY_SUFFIX (1u << 31)
#define PATH_FIXED_MAX 63 /* bytes of it that count */

static inline uint64_t path_literal_bit(uint32_t hash)
{
	return (uint64_t)1 << (hash >> 26);
}

void path_tree_init(struct path_tree *tree);
uint32_t path_tree_root(struct path_tree *tree, bool denies, bool exact);
/* A canonical glob, which must outlive the tree, or NULL; owner is set here. */
void path_tree_add(struct path_tree *tree, uint32_t root, const char *glob,
		   const struct port_item *rule);
void path_tree_finish(struct path_tree *tree);
void path_tree_release(struct path_tree *tree);
