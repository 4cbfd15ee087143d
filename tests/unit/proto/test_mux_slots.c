/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mux_slots.c - DATA that lies in shared memory
 */
#include "proto/mux.h"

#include "base/mem.h"
#include "lib/tap.h"
#include "proto/cursor.h"
#include "mux_seen.h"

/* Two ends, and the memory between them. */
struct pair {
	struct seen host, guest;
	uint8_t *memory;
	uint8_t got[4 * SLOT_BYTES];
	size_t got_len;
};

static struct pair *pair;

static size_t keep(void *ctx, struct mux_stream *stream, const uint8_t *bytes,
		   size_t len)
{
	memcpy(pair->got + pair->got_len, bytes, len);
	pair->got_len += len;
	return len;
}

static const struct mux_ops guest_ops = { .on_message = on_message,
					  .on_stream = on_stream,
					  .on_marker = on_marker,
					  .on_data = keep };

static void open_pair(void)
{
	pair = xcalloc(1, sizeof(*pair));
	pair->memory = xcalloc(1, SLOTS_BYTES);
	mux_init(&pair->host.mux, &mux_net_limits, &ops, &pair->host);
	mux_init(&pair->guest.mux, &mux_net_limits, &guest_ops, &pair->guest);
	mux_write_slots(&pair->host.mux, pair->memory);
	mux_read_slots(&pair->guest.mux, pair->memory);
	mux_stream_open(&pair->host.mux, 1, NULL);
	mux_stream_open(&pair->guest.mux, 1, NULL);
}

static void close_pair(void)
{
	mux_release(&pair->host.mux);
	mux_release(&pair->guest.mux);
	free(pair->memory);
	free(pair);
}

/* Everything that one has for the other; how many bytes crossed. */
static size_t cross(struct seen *from, struct seen *to)
{
	static uint8_t bytes[1 << 20];
	size_t len = mux_output_copy(&from->mux, bytes, sizeof(bytes));
	struct error err;

	if (len)
		CHECK(mux_input(&to->mux, bytes, len, &err) == 0);
	return len;
}

static int input_pair(struct seen *seen, enum frame_type type, uint32_t stream,
		      uint32_t first, uint32_t second)
{
	uint8_t bytes[8];
	struct writer w = writer_over(bytes, sizeof(bytes));

	writer_u32(&w, first);
	writer_u32(&w, second);
	return input(seen, type, stream, bytes, sizeof(bytes));
}

static void large_data_crosses_in_slots_and_they_come_back(void)
{
	static uint8_t data[3 * SLOT_BYTES + 100];
	struct mux_stream *stream;

	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
	open_pair();
	stream = mux_stream_find(&pair->host.mux, 1);
	CHECK(mux_stream_write(stream, data, sizeof(data)) == sizeof(data));
	mux_stream_eof(stream);
	/* Three frames of a slot, one with the rest, EOF. */
	CHECK(cross(&pair->host, &pair->guest) == 3 * 20 + 112 + 12);
	CHECK(pair->got_len == sizeof(data));
	CHECK(!memcmp(pair->got, data, sizeof(data)));
	CHECK(mux_stream_find(&pair->guest.mux, 1)->peer_eof);
	CHECK(__builtin_popcountll(pair->host.mux.slots_free) ==
	      SLOT_COUNT - 3);
	cross(&pair->guest, &pair->host);
	CHECK(pair->host.mux.slots_free == SLOTS_ALL);
	CHECK(pair->host.changes > 0);
	close_pair();
}

static void without_a_free_slot_data_goes_as_before(void)
{
	static const uint8_t data[4 * SLOT_BYTES];
	struct mux_stream *stream;

	open_pair();
	pair->host.mux.slots_free = 1;
	stream = mux_stream_find(&pair->host.mux, 1);
	CHECK(mux_stream_write(stream, data, sizeof(data)) == sizeof(data));
	while (cross(&pair->host, &pair->guest))
		;
	CHECK(pair->got_len == sizeof(data));
	CHECK(pair->host.mux.slots_free == 0);
	close_pair();
}

static void the_window_holds_for_slots_too(void)
{
	struct seen *guest;

	open_pair();
	guest = &pair->guest;
	guest->mux.ops = &ops; /* nobody takes it */
	for (uint32_t i = 0; i < mux_net_limits.window / SLOT_BYTES; i++)
		CHECK(input_pair(guest, FRAME_SLOT, 1, i, SLOT_BYTES) == 0);
	CHECK(input_pair(guest, FRAME_SLOT, 1, 20, 1) < 0);
	close_pair();
}

static void what_a_closed_stream_gets_is_given_back(void)
{
	uint32_t value;
	struct frame frame;

	open_pair();
	CHECK(input_pair(&pair->guest, FRAME_SLOT, 99, 5, 100) == 0);
	CHECK(pair->got_len == 0);
	CHECK(output(&pair->guest, &frame, &value));
	CHECK(frame.type == FRAME_FREE && frame.stream == 0 && value == 1 << 5);
	close_pair();
}

static void slots_that_are_none_break_the_protocol(void)
{
	static const struct {
		uint32_t slot, len;
	} wrong[] = { { SLOT_COUNT, 1 },
		      { UINT32_MAX, 1 },
		      { 0, 0 },
		      { 0, SLOT_BYTES + 1 } };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		open_pair();
		CHECK(input_pair(&pair->guest, FRAME_SLOT, 1, wrong[i].slot,
				 wrong[i].len) < 0);
		close_pair();
	}
}

static void what_was_not_filled_cannot_be_given_back(void)
{
	open_pair();
	CHECK(input_pair(&pair->host, FRAME_FREE, 0, 1, 0) < 0);
	close_pair();
	open_pair();
	pair->host.mux.slots_free = ~1ULL;
	CHECK(input_pair(&pair->host, FRAME_FREE, 0, 1, 0) == 0);
	CHECK(input_pair(&pair->host, FRAME_FREE, 0, 1, 0) < 0);
	close_pair();
	open_pair();
	CHECK(input_pair(&pair->host, FRAME_FREE, 0, 0, 0) < 0);
	close_pair();
}

static void a_channel_without_slots_knows_none(void)
{
	struct seen seen;

	start(&seen);
	mux_stream_open(&seen.mux, 1, NULL);
	CHECK(input_pair(&seen, FRAME_SLOT, 1, 0, 1) < 0);
	mux_release(&seen.mux);
	start(&seen);
	CHECK(input_pair(&seen, FRAME_FREE, 0, 1, 0) < 0);
	mux_release(&seen.mux);
}

int main(void)
{
	RUN(large_data_crosses_in_slots_and_they_come_back);
	RUN(without_a_free_slot_data_goes_as_before);
	RUN(the_window_holds_for_slots_too);
	RUN(what_a_closed_stream_gets_is_given_back);
	RUN(slots_that_are_none_break_the_protocol);
	RUN(what_was_not_filled_cannot_be_given_back);
	RUN(a_channel_without_slots_knows_none);
	return DONE();
}
