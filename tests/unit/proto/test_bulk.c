/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_bulk.c - nothing that was not read is written over
 */
#include "proto/bulk.h"

#include <stdlib.h>

#include "lib/tap.h"

static void all_of_it_can_be_taken_at_once(void)
{
	struct bulk bulk = { 0 };

	CHECK(bulk_room(&bulk) == BULK_BYTES);
	CHECK(bulk_take(&bulk, BULK_BYTES) == 0);
	CHECK(bulk_room(&bulk) == 0);
	CHECK(bulk_read(&bulk, 2) < 0);
	CHECK(bulk_read(&bulk, 1) == 0);
	CHECK(bulk_room(&bulk) == BULK_BYTES);
	CHECK(bulk_read(&bulk, 1) < 0);
}

static void the_longer_end_is_used(void)
{
	struct bulk bulk = { 0 };

	CHECK(bulk_take(&bulk, BULK_BYTES / 2) == 0);
	CHECK(bulk_take(&bulk, BULK_BYTES / 4) == BULK_BYTES / 2);
	CHECK(bulk_room(&bulk) == BULK_BYTES / 4);
	bulk_read(&bulk, 1);
	CHECK(bulk_room(&bulk) == BULK_BYTES / 2);
	CHECK(bulk_take(&bulk, 100) == 0);
	/* between the newest and the oldest */
	CHECK(bulk_room(&bulk) == BULK_BYTES / 2 - 100);
	CHECK(bulk_take(&bulk, BULK_BYTES / 2 - 100) == 100);
	CHECK(bulk_room(&bulk) == 0);
}

static void pieces_are_limited_too(void)
{
	struct bulk bulk = { 0 };

	for (unsigned i = 0; i < BULK_PIECES; i++) {
		CHECK(bulk_room(&bulk) > 0);
		CHECK(bulk_take(&bulk, 8) == i * 8);
	}
	CHECK(bulk_room(&bulk) == 0);
	bulk_reset(&bulk);
	CHECK(bulk_room(&bulk) == BULK_BYTES);
}

static void what_is_read_out_of_order_is_free_when_the_oldest_is(void)
{
	struct bulk bulk = { 0 };
	uint32_t first = bulk_take(&bulk, BULK_BYTES / 2);
	uint32_t second = bulk_take(&bulk, BULK_BYTES / 2);

	bulk_read_one(&bulk, second);
	CHECK(bulk_room(&bulk) == 0);
	bulk_read_one(&bulk, second);
	CHECK(bulk_room(&bulk) == 0);
	bulk_read_one(&bulk, first);
	CHECK(bulk_room(&bulk) == BULK_BYTES);
	bulk_read_one(&bulk, first);
	CHECK(bulk_room(&bulk) == BULK_BYTES);
}

/* Every byte belongs to at most one piece. */
static void random_pieces_never_overlap(void)
{
	static bool used[BULK_BYTES / 4096];
	struct {
		uint32_t start, len;
	} pieces[BULK_PIECES];
	struct bulk bulk = { 0 };
	unsigned count = 0;
	bool apart = true;

	srandom(1);
	for (int turn = 0; turn < 200000; turn++) {
		uint32_t room = bulk_room(&bulk) / 4096, start, len;

		if (room && random() % 2) {
			len = 1 + (uint32_t)random() % (room < 64 ? room : 64);
			start = bulk_take(&bulk, len * 4096) / 4096;
			for (uint32_t i = start; i < start + len; i++) {
				apart &= !used[i];
				used[i] = true;
			}
			pieces[count].start = start;
			pieces[count++].len = len;
		} else if (count) {
			for (uint32_t i = 0; i < pieces[0].len; i++)
				used[pieces[0].start + i] = false;
			bulk_read(&bulk, 1);
			count--;
			for (unsigned i = 0; i < count; i++)
				pieces[i] = pieces[i + 1];
		}
	}
	CHECK(apart);
}

static void what_is_outside_is_outside(void)
{
	CHECK(bulk_inside(0, BULK_BYTES));
	CHECK(!bulk_inside(0, BULK_BYTES + 1));
	CHECK(!bulk_inside(1, BULK_BYTES));
	CHECK(bulk_inside(BULK_BYTES - 1, 1));
	CHECK(!bulk_inside(BULK_BYTES, 1));
	CHECK(!bulk_inside(UINT32_MAX, 1));
	CHECK(!bulk_inside(1, UINT32_MAX));
}

int main(void)
{
	RUN(all_of_it_can_be_taken_at_once);
	RUN(the_longer_end_is_used);
	RUN(pieces_are_limited_too);
	RUN(what_is_read_out_of_order_is_free_when_the_oldest_is);
	RUN(random_pieces_never_overlap);
	RUN(what_is_outside_is_outside);
	return DONE();
}
