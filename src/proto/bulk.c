/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bulk.c - what of a memory the other side has not read yet
 */
#include "proto/bulk.h"

static struct bulk_piece *at(struct bulk *bulk, unsigned index)
{
	return &bulk->pieces[(bulk->first + index) % BULK_PIECES];
}

void bulk_reset(struct bulk *bulk)
{
	bulk->first = bulk->count = 0;
}

struct gap {
	uint32_t start, len;
};

/* Behind the last piece, or before the first: whichever is longer. */
static struct gap longest(const struct bulk *bulk)
{
	const struct bulk_piece *oldest = &bulk->pieces[bulk->first];
	unsigned last = (bulk->first + bulk->count - 1) % BULK_PIECES;
	uint32_t end;

	/* From the beginning each time: less memory is touched. */
	if (!bulk->count)
		return (struct gap){ 0, BULK_BYTES };
	if (bulk->count == BULK_PIECES)
		return (struct gap){ 0, 0 };
	end = bulk->pieces[last].end;
	if (end <= oldest->start)
		return (struct gap){ end, oldest->start - end };
	return BULK_BYTES - end >= oldest->start
		       ? (struct gap){ end, BULK_BYTES - end }
		       : (struct gap){ 0, oldest->start };
}

uint32_t bulk_room(const struct bulk *bulk)
{
	return longest(bulk).len;
}

uint32_t bulk_next(const struct bulk *bulk)
{
	return longest(bulk).start;
}

uint32_t bulk_take(struct bulk *bulk, uint32_t len)
{
	struct gap gap = longest(bulk);

	*at(bulk, bulk->count++) =
		(struct bulk_piece){ .start = gap.start,
				     .end = gap.start + len };
	return gap.start;
}

int bulk_read(struct bulk *bulk, uint32_t count)
{
	if (count > bulk->count)
		return -1;
	bulk->first = (bulk->first + count) % BULK_PIECES;
	bulk->count -= count;
	return 0;
}

void bulk_read_one(struct bulk *bulk, uint32_t start)
{
	for (unsigned i = 0; i < bulk->count; i++) {
		if (at(bulk, i)->start == start && !at(bulk, i)->read) {
			at(bulk, i)->read = true;
			break;
		}
	}
	while (bulk->count && at(bulk, 0)->read)
		bulk_read(bulk, 1);
}

bool bulk_inside(uint32_t start, uint32_t len)
{
	return start <= BULK_BYTES && len <= BULK_BYTES - start;
}
