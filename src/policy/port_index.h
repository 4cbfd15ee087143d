/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_index.h - from a port to the rules that count there
 *
 * Many owners (a host pattern, a path) have rules for ranges of ports. For each
 * owner the ports are cut into segments in which the same rules count, sorted,
 * so that a binary search finds one. Of the rules of a segment those are kept
 * that are the first to have some bit of their mask: at most as many as there
 * are bits.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct port_item {
	uint32_t owner;
	uint32_t rule; /* a smaller number comes first */
	uint32_t mask; /* not 0; what the bits mean is the caller's */
	uint16_t low, high;
};

/* Collected while rules are read. */
struct port_items {
	struct port_item *list; /* owned */
	size_t count, capacity;
};

struct port_hit {
	uint32_t mask;
	uint32_t rule;
};

struct port_segment {
	uint16_t start; /* ends before the next one's start */
	uint16_t hits;
	uint32_t first_hit;
};

struct port_index {
	uint32_t *first; /* owned; of an owner; one more at the end */
	struct port_segment *segments; /* owned */
	struct port_hit *hits;         /* owned */
	size_t segment_count, hit_count;
};

void port_items_add(struct port_items *items, const struct port_item *item);
void port_items_release(struct port_items *items);
/* Owners are numbers below `owners`. Sorts the items. */
void port_index_build(struct port_index *index, struct port_items *items,
		      uint32_t owners);
void port_index_release(struct port_index *index);

/* NULL: the owner has nothing at or before this port. */
static inline const struct port_segment *
port_index_segment(const struct port_index *index, uint32_t owner,
		   uint16_t port)
{
	const struct port_segment *at = &index->segments[index->first[owner]];
	uint32_t count = index->first[owner + 1] - index->first[owner];

	if (count == 0 || port < at->start)
		return NULL;
	while (count > 1) {
		uint32_t half = count / 2;

		at += at[half].start <= port ? half : 0;
		count -= half;
	}
	return at;
}
