/* SPDX-License-Identifier: Apache-2.0 */
/*
 * address_map.c - from an address to the ranges that hold it
 */
#include "policy/address_map.h"

#include <stdbool.h>
#include <stdlib.h>

#include "base/mem.h"

#define ROOM_FIRST 16

static inline uint64_t word(const uint8_t *bytes)
{
	uint64_t value;

	__builtin_memcpy(&value, bytes, sizeof(value));
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	value = __builtin_bswap64(value);
#endif
	return value;
}

/* IPv4 stands in the upper half's upper half: no other family is beside it. */
static inline struct address_number number_of(const struct address *address)
{
	return (struct address_number){ word(address->bytes),
					word(address->bytes + 8) };
}

static inline bool is_less(const struct address_number *a,
			   const struct address_number *b)
{
	return a->high < b->high || (a->high == b->high && a->low < b->low);
}

static struct address_number last_of(const struct address_number *first,
				     unsigned bits)
{
	struct address_number last = *first;

	last.high |= bits >= 64 ? 0 : UINT64_MAX >> bits;
	last.low |= bits >= 128 ? 0 : UINT64_MAX >> (bits > 64 ? bits - 64 : 0);
	return last;
}

void address_map_add(struct address_map *map, const struct cidr *range,
		     uint32_t entry)
{
	struct address_number first = number_of(&range->base);

	if (map->count == map->room) {
		map->room = map->room ? map->room * 2 : ROOM_FIRST;
		map->ranges =
			xrealloc(map->ranges, map->room * sizeof(*map->ranges));
	}
	map->ranges[map->count++] = (struct address_range){
		.first = first,
		.last = last_of(&first, range->bits),
		.entry = entry,
	};
}

/* By their first address; of two with the same, the larger first. */
static int compare_ranges(const void *left, const void *right)
{
	const struct address_range *a = left, *b = right;

	if (is_less(&a->first, &b->first))
		return -1;
	if (is_less(&b->first, &a->first))
		return 1;
	return is_less(&b->last, &a->last) ? -1 : is_less(&a->last, &b->last);
}

static void cut(struct address_map *map, const struct address_number *start,
		uint32_t range)
{
	uint32_t entry = range ? map->ranges[range - 1].entry : 0;
	struct address_cut *last = &map->cuts[map->cut_count - 1];

	if (!is_less(&last->start, start))
		last->entry = entry;
	else
		map->cuts[map->cut_count++] =
			(struct address_cut){ *start, entry };
}

/* Behind a range that has ended, the one around it goes on. */
static void cut_behind(struct address_map *map, uint32_t range)
{
	struct address_number next = map->ranges[range - 1].last;

	next.low++;
	next.high += next.low == 0;
	if (next.low || next.high)
		cut(map, &next, map->ranges[range - 1].around);
}

void address_map_finish(struct address_map *map)
{
	uint32_t open = 0;

	if (map->count)
		qsort(map->ranges, map->count, sizeof(*map->ranges),
		      compare_ranges);
	map->cuts = xcalloc(2 * map->count + 1, sizeof(*map->cuts));
	map->cut_count = 1; /* at 0, with nothing there */
	for (uint32_t i = 0; i < map->count; i++) {
		struct address_range *range = &map->ranges[i];

		for (; open &&
		       is_less(&map->ranges[open - 1].last, &range->first);
		     open = map->ranges[open - 1].around)
			cut_behind(map, open);
		range->around = open;
		open = i + 1;
		cut(map, &range->first, open);
	}
	for (; open; open = map->ranges[open - 1].around)
		cut_behind(map, open);
}

void address_map_release(struct address_map *map)
{
	free(map->ranges);
	free(map->cuts);
	*map = (struct address_map){ 0 };
}

uint32_t address_map_find(const struct address_map *map,
			  const struct address *address)
{
	struct address_number number = number_of(address);
	const struct address_cut *at = map->cuts;
	size_t count = map->cut_count;

	while (count > 1) {
		size_t half = count / 2;

		at += is_less(&number, &at[half].start) ? 0 : half;
		count -= half;
	}
	return at->entry;
}
