/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_rings.c - bytes arrive whole, in order, and nothing is read or written
 * outside of a ring, whatever the other side says
 */
#include "proto/rings.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "lib/tap.h"

struct ends {
	void *memory;
	struct rings guest, host;
};

static struct ends make(void)
{
	struct ends ends = { .memory = xcalloc(1, RINGS_BYTES) };

	rings_init(&ends.guest, RINGS_GUEST, ends.memory);
	rings_init(&ends.host, RINGS_HOST, ends.memory);
	return ends;
}

static void begin(struct ends *ends)
{
	rings_begin_in(&ends->guest, rings_begin_out(&ends->host));
	rings_begin_in(&ends->host, rings_begin_out(&ends->guest));
}

static void fill(uint8_t *bytes, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		bytes[i] = (uint8_t)(seed + i * 7 + i / 251);
}

/* In pieces of a length that no ring is a multiple of, many times around. */
static void pass(struct rings *from, struct rings *to)
{
	uint8_t sent[4099], got[4099];

	for (unsigned i = 0; i < 300; i++) {
		size_t len = 1 + (size_t)i * 997 % sizeof(sent);

		fill(sent, len, i);
		CHECK(!rings_ready(to));
		CHECK(rings_write(from, sent, len) == len);
		CHECK(rings_ready(to));
		CHECK(rings_read(to, got, sizeof(got)) == (long)len);
		CHECK(!memcmp(sent, got, len));
	}
	CHECK(rings_read(to, got, sizeof(got)) == 0);
}

static void bytes_pass_both_ways_many_times_around(void)
{
	struct ends ends = make();

	begin(&ends);
	pass(&ends.guest, &ends.host);
	pass(&ends.host, &ends.guest);
	free(ends.memory);
}

static void a_full_ring_takes_no_more(void)
{
	struct ends ends = make();
	uint8_t *bytes = xmalloc(RINGS_BYTES);

	begin(&ends);
	fill(bytes, RINGS_BYTES, 3);
	CHECK(rings_write(&ends.guest, bytes, RINGS_BYTES) ==
	      RINGS_TO_HOST_BYTES);
	CHECK(rings_write(&ends.guest, bytes, 1) == 0);
	CHECK(rings_read(&ends.host, bytes, 10) == 10);
	CHECK(rings_write(&ends.guest, bytes, 100) == 10);
	CHECK(rings_write(&ends.host, bytes, RINGS_BYTES) ==
	      RINGS_TO_GUEST_BYTES);
	CHECK(rings_read(&ends.guest, bytes, RINGS_BYTES) ==
	      RINGS_TO_GUEST_BYTES);
	free(bytes);
	free(ends.memory);
}

static void a_position_that_cannot_be_is_noticed(void)
{
	struct ends ends = make();
	struct rings_words *guest = ends.memory;
	uint8_t bytes[16];

	begin(&ends);
	guest->written = RINGS_TO_HOST_BYTES + 1;
	CHECK(rings_ready(&ends.host));
	CHECK(rings_read(&ends.host, bytes, sizeof(bytes)) < 0);
	guest->written = (uint32_t)-1;
	CHECK(rings_read(&ends.host, bytes, sizeof(bytes)) < 0);
	/* It says that more was read than was written: nothing is written. */
	guest->read = 5;
	CHECK(rings_write(&ends.host, bytes, sizeof(bytes)) == 0);
	free(ends.memory);
}

/* What one of them wrote on before is no part of the next talk. */
static void others_begin_where_they_left_off(void)
{
	struct ends ends = make();
	uint8_t bytes[100] = { 1 };

	begin(&ends);
	rings_write(&ends.guest, bytes, 100);
	rings_write(&ends.host, bytes, 100);
	rings_read(&ends.host, bytes, 40);
	rings_init(&ends.host, RINGS_HOST, ends.memory);
	begin(&ends);
	CHECK(!rings_ready(&ends.guest) && !rings_ready(&ends.host));
	pass(&ends.guest, &ends.host);
	pass(&ends.host, &ends.guest);
	/* new memory: the guest was restored */
	memset(ends.memory, 0, RINGS_BYTES);
	rings_init(&ends.host, RINGS_HOST, ends.memory);
	begin(&ends);
	pass(&ends.guest, &ends.host);
	pass(&ends.host, &ends.guest);
	free(ends.memory);
}

static void who_sleeps_is_woken_for_what_he_wants(void)
{
	struct ends ends = make();

	begin(&ends);
	CHECK(!rings_must_wake(&ends.host, RINGS_FOR_BYTES));
	rings_sleep(&ends.guest, RINGS_FOR_BYTES);
	CHECK(rings_must_wake(&ends.host, RINGS_FOR_BYTES));
	CHECK(!rings_must_wake(&ends.host, RINGS_FOR_ROOM));
	rings_sleep(&ends.guest, RINGS_FOR_ROOM);
	CHECK(rings_must_wake(&ends.host, RINGS_FOR_BYTES));
	CHECK(rings_must_wake(&ends.host, RINGS_FOR_ROOM));
	CHECK(!rings_must_wake(&ends.guest, RINGS_FOR_BYTES));
	rings_sleep(&ends.guest, RINGS_AWAKE);
	CHECK(!rings_must_wake(&ends.host, RINGS_FOR_BYTES));
	free(ends.memory);
}

int main(void)
{
	RUN(bytes_pass_both_ways_many_times_around);
	RUN(a_full_ring_takes_no_more);
	RUN(a_position_that_cannot_be_is_noticed);
	RUN(others_begin_where_they_left_off);
	RUN(who_sleeps_is_woken_for_what_he_wants);
	return DONE();
}
