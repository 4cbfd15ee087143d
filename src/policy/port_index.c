/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_index.c - from a port to the rules that count there
 */
#include "policy/port_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"

#define GROW_FIRST 64

/* One owner's items while its segments are made. */
struct sweep {
	const struct port_item *items; /* by rule */
	size_t count;
	uint32_t *by_low; /* owned; items, by their first port */
	uint32_t *active; /* owned; those that count now, in order */
	uint32_t *starts; /* owned; where something begins or has ended */
	size_t active_count;
};

static void *grown(void *list, size_t count, size_t *capacity, size_t size)
{
	if (count < *capacity)
		return list;
	*capacity = *capacity ? *capacity * 2 : GROW_FIRST;
	return xrealloc(list, *capacity * size);
}

void port_items_add(struct port_items *items, const struct port_item *item)
{
	items->list = grown(items->list, items->count, &items->capacity,
			    sizeof(*items->list));
	items->list[items->count++] = *item;
}

void port_items_release(struct port_items *items)
{
	free(items->list);
	*items = (struct port_items){ 0 };
}

void port_index_release(struct port_index *index)
{
	free(index->first);
	free(index->segments);
	free(index->hits);
	*index = (struct port_index){ 0 };
}

static int compare_numbers(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_items(const void *left, const void *right)
{
	const struct port_item *a = left, *b = right;

	return compare_numbers((uint64_t)a->owner << 32 | a->rule,
			       (uint64_t)b->owner << 32 | b->rule);
}

static int compare_u32(const void *left, const void *right)
{
	return compare_numbers(*(const uint32_t *)left,
			       *(const uint32_t *)right);
}

static int compare_lows(const void *left, const void *right, void *ctx)
{
	const struct port_item *items = ctx;

	return compare_numbers(items[*(const uint32_t *)left].low,
			       items[*(const uint32_t *)right].low);
}

/* Drops what ended before this port. */
static void leave(struct sweep *sweep, uint32_t port)
{
	size_t kept = 0;

	for (size_t i = 0; i < sweep->active_count; i++) {
		if (sweep->items[sweep->active[i]].high >= port)
			sweep->active[kept++] = sweep->active[i];
	}
	sweep->active_count = kept;
}

static void enter(struct sweep *sweep, uint32_t item)
{
	size_t at = sweep->active_count++;

	for (; at > 0 && sweep->active[at - 1] > item; at--)
		sweep->active[at] = sweep->active[at - 1];
	sweep->active[at] = item;
}

/* The capacity is kept in the caller's hands: these grow together. */
struct room {
	size_t segments, hits;
};

static void add_segment(struct port_index *index, struct room *room,
			const struct sweep *sweep, uint32_t start)
{
	struct port_segment segment = { .start = (uint16_t)start,
					.first_hit =
						(uint32_t)index->hit_count };
	uint32_t seen = 0;

	for (size_t i = 0; i < sweep->active_count; i++) {
		const struct port_item *item = &sweep->items[sweep->active[i]];

		if ((item->mask & ~seen) == 0)
			continue;
		seen |= item->mask;
		index->hits = grown(index->hits, index->hit_count, &room->hits,
				    sizeof(*index->hits));
		index->hits[index->hit_count++] =
			(struct port_hit){ item->mask, item->rule };
		segment.hits++;
	}
	index->segments = grown(index->segments, index->segment_count,
				&room->segments, sizeof(*index->segments));
	index->segments[index->segment_count++] = segment;
}

static size_t collect_starts(struct sweep *sweep)
{
	size_t count = 0, unique = 0;

	for (size_t i = 0; i < sweep->count; i++) {
		sweep->starts[count++] = sweep->items[i].low;
		if (sweep->items[i].high < UINT16_MAX)
			sweep->starts[count++] = sweep->items[i].high + 1u;
	}
	qsort(sweep->starts, count, sizeof(*sweep->starts), compare_u32);
	for (size_t i = 0; i < count; i++) {
		if (unique == 0 ||
		    sweep->starts[unique - 1] != sweep->starts[i])
			sweep->starts[unique++] = sweep->starts[i];
	}
	return unique;
}

static void build_owner(struct port_index *index, struct room *room,
			const struct port_item *items, size_t count)
{
	struct sweep sweep = { .items = items, .count = count };
	AUTO_FREE uint32_t *memory = xcalloc(count, 4 * sizeof(*memory));
	size_t starts, next = 0;

	sweep.by_low = memory;
	sweep.active = memory + count;
	sweep.starts = memory + 2 * count;
	for (uint32_t i = 0; i < count; i++)
		sweep.by_low[i] = i;
	qsort_r(sweep.by_low, count, sizeof(*sweep.by_low), compare_lows,
		(void *)items);
	starts = collect_starts(&sweep);
	for (size_t i = 0; i < starts; i++) {
		leave(&sweep, sweep.starts[i]);
		while (next < count &&
		       items[sweep.by_low[next]].low == sweep.starts[i])
			enter(&sweep, sweep.by_low[next++]);
		add_segment(index, room, &sweep, sweep.starts[i]);
	}
}

void port_index_build(struct port_index *index, struct port_items *items,
		      uint32_t owners)
{
	struct room room = { 0 };
	uint32_t owner = 0;

	*index = (struct port_index){ 0 };
	index->first = xcalloc(owners + 1u, sizeof(*index->first));
	/* Never NULL, so that an owner without rules needs no test. */
	index->segments =
		grown(NULL, 0, &room.segments, sizeof(*index->segments));
	index->hits = grown(NULL, 0, &room.hits, sizeof(*index->hits));
	if (items->count)
		qsort(items->list, items->count, sizeof(*items->list),
		      compare_items);
	for (size_t i = 0, end; i < items->count; i = end) {
		for (end = i; end < items->count &&
			      items->list[end].owner == items->list[i].owner;)
			end++;
		for (; owner <= items->list[i].owner; owner++)
			index->first[owner] = (uint32_t)index->segment_count;
		build_owner(index, &room, &items->list[i], end - i);
	}
	for (; owner <= owners; owner++)
		index->first[owner] = (uint32_t)index->segment_count;
}
