/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_run.c - one request through the tree of paths
 *
 * A node has one parent and one way to be reached from it, so that it is
 * reached once for each segment. The exception is a node behind `**`: it stays
 * once it was reached, and is kept apart.
 */
#include "policy/path_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/path_tree.h"

/* Beside the way that most segments take, which then needs few registers. */
#define NOT_INLINE __attribute__((noinline))

static void start_nodes(struct path_nodes *nodes)
{
	nodes->list = nodes->room;
	nodes->count = 0;
	nodes->capacity = PATH_RUN_ROOM;
}

static void release_nodes(struct path_nodes *nodes)
{
	if (nodes->list != nodes->room)
		free(nodes->list);
}

static NOT_INLINE void grow_nodes(struct path_nodes *nodes)
{
	uint32_t *list = xmalloc((size_t)nodes->capacity * 2 * sizeof(*list));

	memcpy(list, nodes->list, nodes->count * sizeof(*list));
	release_nodes(nodes);
	nodes->list = list;
	nodes->capacity *= 2;
}

static inline void push(struct path_nodes *nodes, uint32_t node)
{
	if (nodes->count == nodes->capacity)
		grow_nodes(nodes);
	nodes->list[nodes->count++] = node;
}

/* Some rule there or beneath is for this port and method, and matters. */
static inline bool is_wanted(const struct path_run *run,
			     const struct path_node *node)
{
	if (run->port < node->low || run->port > node->high ||
	    !(run->method & node->methods))
		return false;
	if (node->denies)
		return node->first < run->deny;
	return node->first < run->allow || (node->exact && !run->exact);
}

static bool holds(const struct path_nodes *nodes, uint32_t node)
{
	for (uint32_t i = 0; i < nodes->count; i++) {
		if (nodes->list[i] == node)
			return true;
	}
	return false;
}

void path_run_start(struct path_run *run, const struct path_tree *tree,
		    uint16_t port, uint32_t method)
{
	run->tree = tree;
	run->method = method;
	run->port = port;
	run->deny = PATH_RUN_NONE;
	run->allow = PATH_RUN_NONE;
	run->exact = false;
	run->rest = "";
	run->now = &run->one;
	run->next = &run->other;
	start_nodes(&run->one);
	start_nodes(&run->other);
	start_nodes(&run->deep);
}

void path_run_add(struct path_run *run, uint32_t root)
{
	push(run->now, root);
}

void path_run_allow(struct path_run *run, bool exact)
{
	run->allow = 0;
	run->exact = exact;
}

void path_run_release(struct path_run *run)
{
	release_nodes(&run->one);
	release_nodes(&run->other);
	release_nodes(&run->deep);
}

static void accept_rule(struct path_run *run, const struct path_node *node,
			uint32_t rule)
{
	if (!node->denies) {
		run->exact |= node->exact;
		if (rule < run->allow)
			run->allow = rule;
		return;
	}
	if (rule < run->deny)
		run->deny = rule;
	path_run_allow(run, true); /* nobody will ask */
}

/* The rules that end at this node match, for one method and port. */
static NOT_INLINE void accept_node(struct path_run *run, uint32_t number)
{
	const struct port_index *ports = &run->tree->ports;
	const struct port_segment *segment =
		port_index_segment(ports, number, run->port);

	for (uint32_t i = 0; segment && i < segment->hits; i++) {
		const struct port_hit *hit =
			&ports->hits[segment->first_hit + i];

		if (hit->mask & run->method) {
			accept_rule(run, &run->tree->nodes[number], hit->rule);
			return;
		}
	}
}

/* What stands behind `**` is reached with it, and matches whatever follows. */
static NOT_INLINE void reach_deep(struct path_run *run, uint32_t deep)
{
	const struct path_node *node = &run->tree->nodes[deep];

	if (!is_wanted(run, node) || (node->inner && holds(&run->deep, deep)))
		return;
	if (node->inner)
		push(&run->deep, deep);
	if (node->ends)
		accept_node(run, deep);
}

/* No segment follows, or an empty one, which may not count. */
static inline bool near_end(const struct path_run *run)
{
	return !run->rest[0] || !run->rest[1] || run->rest[1] == '/';
}

/* A node that leads nowhere matters only at the path's end. */
static inline void reach(struct path_run *run, uint32_t number)
{
	const struct path_node *node = &run->tree->nodes[number];

	if (!is_wanted(run, node))
		return;
	if (node->inner || near_end(run))
		push(run->next, number);
	if (node->deep)
		reach_deep(run, node->deep);
}

/* Most differ in the byte behind the star: it is looked at first. */
static inline bool glob_matches(const struct path_glob_edge *glob,
				const struct edge_key *segment,
				enum edge_case how)
{
	size_t before = glob->before, behind = glob->len - before - 1;
	const char *tail = glob->text + before + 1, *end;

	if (segment->len < glob->len - 1)
		return false;
	end = segment->text + segment->len - behind;
	if (how == EDGE_FOLD)
		return fold_equal(tail, end, behind) &&
		       fold_equal(glob->text, segment->text, before);
	return (behind == 0 || tail[behind - 1] == end[behind - 1]) &&
	       memcmp(glob->text, segment->text, before) == 0 &&
	       memcmp(tail, end, behind) == 0;
}

static NOT_INLINE void try_globs(struct path_run *run, uint32_t glob,
				 const struct edge_key *segment,
				 enum edge_case how)
{
	for (; glob; glob = run->tree->globs[glob].next) {
		const struct path_glob_edge *edge = &run->tree->globs[glob];

		if (glob_matches(edge, segment, how))
			reach(run, edge->node);
	}
}

/* Those that begin or end with as many bytes of the segment as a bit says. */
static NOT_INLINE void find_globs(struct path_run *run, uint32_t number,
				  const struct edge_key *segment,
				  enum edge_case how)
{
	const struct path_node *node = &run->tree->nodes[number];
	const struct edge_table *edges = &run->tree->edges;
	const char *end = segment->text + segment->len;
	struct edge_key key;

	for (uint64_t left = node->prefixes; left; left &= left - 1) {
		size_t len = (size_t)__builtin_ctzll(left);

		if (len > segment->len)
			break;
		key = edge_key_of(segment->text, len);
		try_globs(run,
			  edge_table_find(edges, number | PATH_BY_PREFIX, &key,
					  how),
			  segment, how);
	}
	for (uint64_t left = node->suffixes; left; left &= left - 1) {
		size_t len = (size_t)__builtin_ctzll(left);

		if (len > segment->len)
			break;
		key = edge_key_of(end - len, len);
		try_globs(run,
			  edge_table_find(edges, number | PATH_BY_SUFFIX, &key,
					  how),
			  segment, how);
	}
}

static inline void step(struct path_run *run, uint32_t number,
			const struct edge_key *segment)
{
	const struct path_node *node = &run->tree->nodes[number];
	enum edge_case how = node->denies ? EDGE_FOLD : EDGE_EXACT;

	if (node->literals & path_literal_bit(segment->hash)) {
		uint32_t child = edge_table_find(&run->tree->edges, number,
						 segment, how);

		if (child)
			reach(run, child);
	}
	if (node->any)
		reach(run, node->any);
	if (!node->globs)
		return;
	if (node->indexed)
		find_globs(run, number, segment, how);
	else
		try_globs(run, node->globs, segment, how);
}

/* It does not count where paths are denied. */
static void step_empty(struct path_run *run, const struct edge_key *segment)
{
	uint32_t stayed = run->deep.count;

	for (uint32_t i = 0; i < run->now->count; i++) {
		uint32_t node = run->now->list[i];

		if (run->tree->nodes[node].denies)
			push(run->next, node);
		else
			step(run, node, segment);
	}
	for (uint32_t i = 0; i < stayed; i++) {
		if (!run->tree->nodes[run->deep.list[i]].denies)
			step(run, run->deep.list[i], segment);
	}
}

static void step_all(struct path_run *run, const struct edge_key *segment)
{
	const struct path_nodes *now = run->now;
	uint32_t stayed = run->deep.count; /* more may come, for the next one */

	if (segment->len == 0) {
		step_empty(run, segment);
		return;
	}
	for (uint32_t i = 0; i < now->count; i++)
		step(run, now->list[i], segment);
	for (uint32_t i = 0; i < stayed; i++)
		step(run, run->deep.list[i], segment);
}

static inline void advance(struct path_run *run)
{
	struct path_nodes *done = run->now;

	run->now = run->next;
	run->next = done;
	done->count = 0;
}

static void match_unknown(struct path_run *run)
{
	const struct path_nodes *roots = run->now;

	for (uint32_t i = 0; i < roots->count; i++) {
		const struct path_node *root =
			&run->tree->nodes[roots->list[i]];

		if (root->deep)
			accept_node(run, root->deep);
		if (root->blind)
			accept_node(run, root->blind);
	}
}

/* Of the roots that were added, those that can change something. */
static void reach_roots(struct path_run *run)
{
	const struct path_nodes *added = run->now;

	for (uint32_t i = 0; i < added->count; i++)
		reach(run, added->list[i]);
	advance(run);
}

void path_run_match(struct path_run *run, const char *path)
{
	if (!path || *path != '/') {
		match_unknown(run);
		return;
	}
	run->rest = path;
	reach_roots(run);
	while (*run->rest && run->now->count + run->deep.count > 0) {
		const char *start = run->rest + 1;
		struct edge_key segment;

		run->rest = strchrnul(start, '/');
		segment = edge_key_of(start, (size_t)(run->rest - start));
		step_all(run, &segment);
		advance(run);
	}
	for (uint32_t i = 0; i < run->now->count; i++) {
		if (run->tree->nodes[run->now->list[i]].ends)
			accept_node(run, run->now->list[i]);
	}
}
