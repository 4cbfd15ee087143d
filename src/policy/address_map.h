/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_map.h - from an address to the ranges that hold it
 *
 * Ranges are nested or apart. The addresses are cut where a range begins or has
 * ended; a binary search finds the smallest range. The caller keeps which one
 * is around which.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "wire/address.h"

struct address_number {
	uint64_t high, low;
};

/* Entries are numbers of the caller's, 0 for none. */
struct address_range {
	struct address_number first, last;
	uint32_t entry;
	uint32_t around; /* number of the range around it, plus 1; 0: none */
};

struct address_cut {
	struct address_number start;
	uint32_t entry; /* of the smallest range from here on */
};

/* One family. */
struct address_map {
	struct address_range *ranges; /* owned; sorted when finished */
	struct address_cut *cuts;     /* owned; the first is at 0 */
	size_t count, room, cut_count;
};

/* Each range once. */
void address_map_add(struct address_map *map, const struct cidr *range,
		     uint32_t entry);
void address_map_finish(struct address_map *map);
void address_map_release(struct address_map *map);
/* The entry of the smallest range that holds it. */
uint32_t address_map_find(const struct address_map *map,
			  const struct address *address);
