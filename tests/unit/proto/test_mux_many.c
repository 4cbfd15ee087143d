/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mux_many.c - other limits, many streams, and bytes without copies
 */
#include "proto/mux.h"

#include <errno.h>

#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"
#include "proto/cursor.h"
#include "mux_seen.h"

enum { STREAMS = 16384 };

static const struct mux_limits many = {
	.streams_max = STREAMS,
	.message_max = 8192,
	.window = MUX_WINDOW,
	.grant_bytes = MUX_WINDOW / 2,
	.hash_seed = 0x5eed5eed,
};

static size_t taken_at_once; /* of every DATA */
static uint8_t passed[64];
static size_t passed_len;
static uint32_t close_at_data;

static size_t on_data(void *ctx, struct mux_stream *stream,
		      const uint8_t *bytes, size_t len)
{
	struct seen *seen = ctx;

	if (len > taken_at_once)
		len = taken_at_once;
	if (passed_len + len <= sizeof(passed))
		memcpy(passed + passed_len, bytes, len);
	passed_len += len;
	if (stream->id == close_at_data)
		mux_stream_close(stream, EPIPE);
	if (seen->release_on_change)
		mux_release(&seen->mux);
	return len;
}

static const struct mux_ops direct_ops = { .on_message = on_message,
					   .on_stream = on_stream,
					   .on_marker = on_marker,
					   .on_data = on_data };

static void start_with(struct seen *seen, const struct mux_limits *limits)
{
	*seen = (struct seen){ 0 };
	passed_len = 0;
	taken_at_once = SIZE_MAX;
	close_at_data = 0;
	mux_init(&seen->mux, limits, &direct_ops, seen);
}

static unsigned longest_chain(const struct mux *mux)
{
	unsigned longest = 0;

	for (unsigned i = 0; i < 1u << mux->bucket_bits; i++) {
		unsigned count = 0;

		for (const struct mux_stream *at = mux->buckets[i]; at;
		     at = at->hash_next)
			count++;
		if (count > longest)
			longest = count;
	}
	return longest;
}

static void many_streams_are_found_and_take_turns(void)
{
	struct seen seen;
	struct frame frame;
	uint32_t expected = 1;

	start_with(&seen, &many);
	for (uint32_t i = 0; i < STREAMS; i++) {
		struct mux_stream *stream =
			mux_stream_open(&seen.mux, 2 * i + 1, NULL);

		REQUIRE(stream);
		CHECK(mux_stream_write(stream, "x", 1) == 1);
	}
	CHECK(!mux_stream_open(&seen.mux, 2, NULL));
	CHECK(longest_chain(&seen.mux) <= 16);
	CHECK(!mux_stream_find(&seen.mux, 2));
	while (output(&seen, &frame, NULL)) {
		CHECK(frame.type == FRAME_DATA && frame.stream == expected);
		expected += 2;
	}
	CHECK(expected == 2 * STREAMS + 1);
	CHECK(mux_memory(&seen.mux) == 0);
	for (uint32_t i = STREAMS; i-- > 0;) {
		mux_stream_eof(mux_stream_find(&seen.mux, 2 * i + 1));
		mux_stream_close(mux_stream_find(&seen.mux, 2 * i + 1), EIO);
	}
	CHECK(seen.mux.stream_count == 0 && !seen.mux.stuck);
	CHECK(mux_backlog(&seen.mux) == STREAMS * (12u + 16u));
	CHECK(!mux_stream_find(&seen.mux, 1));
	mux_release(&seen.mux);
}

static void an_idle_stream_costs_little(void)
{
	CHECK(sizeof(struct mux_stream) + sizeof(void *) < 320);
}

static void windows_go_to_those_that_took(void)
{
	static const uint8_t bytes[FRAME_DATA_MAX];
	struct seen seen;
	struct frame frame;
	uint32_t value = 0;

	start_with(&seen, &many);
	for (uint32_t id = 1; id <= 2000; id++)
		mux_stream_open(&seen.mux, id, NULL);
	for (unsigned i = 0; i < 5; i++) {
		for (uint32_t id = 7; id <= 2000; id += 1000)
			CHECK(!input(&seen, FRAME_DATA, id, bytes,
				     sizeof(bytes)));
	}
	for (uint32_t id = 7; id <= 2000; id += 1000) {
		CHECK(output(&seen, &frame, &value));
		CHECK(frame.type == FRAME_WINDOW && frame.stream == id);
		CHECK(value == 5 * FRAME_DATA_MAX);
	}
	CHECK(!output(&seen, &frame, NULL));
	/* Nothing is granted to whom nothing can come any more. */
	for (unsigned i = 0; i < 4; i++)
		CHECK(!input(&seen, FRAME_DATA, 7, bytes, sizeof(bytes)));
	CHECK(!input(&seen, FRAME_EOF, 7, NULL, 0));
	CHECK(!output(&seen, &frame, NULL));
	mux_release(&seen.mux);
}

static void a_longer_message_breaks(void)
{
	static const uint8_t bytes[8193];
	struct seen seen;

	start_with(&seen, &many);
	CHECK(mux_send_message(&seen.mux, bytes, 8193) == -1);
	CHECK(mux_send_message(&seen.mux, bytes, 8192) == 0);
	CHECK(input(&seen, FRAME_MESSAGE, 0, bytes, 8192) == 0);
	CHECK(input(&seen, FRAME_MESSAGE, 0, bytes, 8193) == -1);
	CHECK(seen.messages == 1);
	mux_release(&seen.mux);
}

static void what_the_user_does_not_take_goes_into_the_ring(void)
{
	struct seen seen;
	struct mux_stream *stream;

	start_with(&seen, &many);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	CHECK(!input(&seen, FRAME_DATA, 1, "all", 3));
	CHECK(passed_len == 3 && !memcmp(passed, "all", 3));
	CHECK(stream->in.len == 0 && seen.changes == 0);
	CHECK(mux_memory(&seen.mux) == 0);

	taken_at_once = 2;
	CHECK(!input(&seen, FRAME_DATA, 1, "abcd", 4));
	CHECK(passed_len == 5 && !memcmp(passed, "allab", 5));
	CHECK(stream->in.len == 2 && seen.changes == 1);
	CHECK(mux_memory(&seen.mux) == 4096);
	CHECK(mux_heaviest(&seen.mux) == stream);
	/* In order: nothing is passed on while older bytes wait. */
	taken_at_once = SIZE_MAX;
	CHECK(!input(&seen, FRAME_DATA, 1, "e", 1));
	CHECK(passed_len == 5 && stream->in.len == 3);
	CHECK(stream->ungranted == 5);
	mux_stream_take(stream, 3);
	CHECK(mux_memory(&seen.mux) == 0 && !mux_heaviest(&seen.mux));
	CHECK(!input(&seen, FRAME_DATA, 1, "f", 1));
	CHECK(passed_len == 6 && stream->ungranted == 9);
	mux_release(&seen.mux);
}

static void what_was_taken_too_early_is_given_back(void)
{
	static uint8_t bytes[FRAME_DATA_MAX];
	struct seen seen;
	struct mux_stream *stream;
	struct frame frame;
	uint32_t value = 0;

	start_with(&seen, &many);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	for (unsigned i = 0; i < 4; i++)
		CHECK(!input(&seen, FRAME_DATA, 1, bytes, sizeof(bytes)));
	/* Half the window was taken: it would be granted now. */
	mux_stream_give_back(stream, "rest", 4);
	CHECK(stream->in.len == 4 && mux_memory(&seen.mux) == 4096);
	CHECK(!output(&seen, &frame, NULL));
	mux_stream_take(stream, 4);
	CHECK(output(&seen, &frame, &value) && value == 4 * FRAME_DATA_MAX);
	/* All of it: nothing is due any more. */
	CHECK(!input(&seen, FRAME_DATA, 1, "abcd", 4));
	mux_stream_give_back(stream, "abcd", 4);
	CHECK(stream->ungranted == 0 && stream->in.len == 4);
	CHECK(!output(&seen, &frame, NULL));
	mux_release(&seen.mux);
}

static void a_stream_that_was_not_opened_is_refused(void)
{
	struct seen seen;
	struct frame frame;
	uint32_t value = 0;

	start_with(&seen, &many);
	mux_refuse(&seen.mux, 9, EAGAIN);
	CHECK(output(&seen, &frame, &value));
	CHECK(frame.type == FRAME_CLOSE && frame.stream == 9);
	CHECK(value == EAGAIN);
	/* What the peer sent before it heard of that is dropped. */
	CHECK(!input(&seen, FRAME_DATA, 9, "x", 1));
	CHECK(!output(&seen, &frame, NULL));
	mux_release(&seen.mux);
}

static void a_begun_frame_is_known(void)
{
	struct frame data = { FRAME_DATA, 1, 4 };
	uint8_t bytes[FRAME_HEADER_BYTES + 4] = { 0 };
	struct seen seen;
	struct mux_stream *stream;
	struct error err;

	start_with(&seen, &many);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	frame_encode(&data, bytes);
	CHECK(!mux_receiving(&seen.mux));
	CHECK(mux_input(&seen.mux, bytes, 14, &err) == 0);
	CHECK(mux_receiving(&seen.mux) == stream);
	CHECK(mux_input(&seen.mux, bytes + 14, 2, &err) == 0);
	CHECK(!mux_receiving(&seen.mux));
	mux_release(&seen.mux);
}

static void the_window_is_a_limit_too(void)
{
	static const struct mux_limits small = { .streams_max = 4,
						 .message_max = 100,
						 .window = 1000,
						 .grant_bytes = 500 };
	static const uint8_t bytes[1001];
	struct seen seen;
	struct mux_stream *stream;
	struct frame frame;

	start_with(&seen, &small);
	taken_at_once = 0;
	stream = mux_stream_open(&seen.mux, 1, NULL);
	CHECK(mux_stream_write(stream, bytes, sizeof(bytes)) == 1000);
	CHECK(output(&seen, &frame, NULL) && frame.len == 1000);
	CHECK(input_u32(&seen, FRAME_WINDOW, 1, 1000) == 0);
	CHECK(input(&seen, FRAME_DATA, 1, bytes, 1000) == 0);
	CHECK(input(&seen, FRAME_DATA, 1, bytes, 1) == -1);
	mux_release(&seen.mux);
	start_with(&seen, &small);
	mux_stream_open(&seen.mux, 1, NULL);
	CHECK(input_u32(&seen, FRAME_WINDOW, 1, 1) == -1);
	mux_release(&seen.mux);
}

static void passed_on_bytes_count_against_the_window(void)
{
	static const uint8_t bytes[FRAME_DATA_MAX];
	struct seen seen;

	start_with(&seen, &many);
	mux_stream_open(&seen.mux, 1, NULL);
	for (unsigned i = 0; i < MUX_WINDOW / FRAME_DATA_MAX; i++)
		CHECK(!input(&seen, FRAME_DATA, 1, bytes, sizeof(bytes)));
	CHECK(passed_len == MUX_WINDOW);
	CHECK(input(&seen, FRAME_DATA, 1, bytes, 1) == -1);
	mux_release(&seen.mux);
}

static void a_user_may_close_or_release_while_it_takes(void)
{
	struct seen seen;

	for (int release = 0; release < 2; release++) {
		start_with(&seen, &many);
		mux_stream_open(&seen.mux, 1, NULL);
		mux_stream_open(&seen.mux, 3, NULL);
		taken_at_once = 1;
		close_at_data = release ? 0 : 1;
		seen.release_on_change = release;
		CHECK(!input(&seen, FRAME_DATA, 1, "abc", 3));
		CHECK(!mux_stream_find(&seen.mux, 1));
		CHECK(input(&seen, FRAME_DATA, 3, "def", 3) ==
		      (release ? -1 : 0));
		mux_release(&seen.mux);
	}
}

static void bytes_are_read_straight_into_the_ring(void)
{
	struct seen seen;
	struct mux_stream *stream;
	struct frame frame;
	struct iovec iov[2];

	start_with(&seen, &many);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	CHECK(mux_stream_room(stream, 10000, iov) == 1);
	CHECK(iov[0].iov_len >= 10000 && mux_memory(&seen.mux) == 16384);
	mux_stream_filled(stream, 0);
	CHECK(mux_memory(&seen.mux) == 0);
	CHECK(!output(&seen, &frame, NULL));
	CHECK(mux_stream_room(stream, 10000, iov) == 1);
	memset(iov[0].iov_base, 'x', 10000);
	mux_stream_filled(stream, 10000);
	CHECK(output(&seen, &frame, NULL) && frame.len == 10000);
	CHECK(mux_memory(&seen.mux) == 0);
	mux_stream_eof(stream);
	CHECK(mux_stream_room(stream, 1, iov) == 0);
	mux_release(&seen.mux);
}

static void a_dropped_frame_leaves_its_stream_able_to_send(void)
{
	struct seen seen;
	struct mux_stream *stream;
	struct frame frame;
	struct iovec iov[3];
	uint8_t bytes[MUX_MARKER_BYTES];

	start_with(&seen, &many);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	mux_stream_write(stream, "12345", 5);
	CHECK(mux_output(&seen.mux, iov) == 2);
	mux_send_marker(&seen.mux, marker);
	CHECK(mux_output_copy(&seen.mux, bytes, sizeof(bytes)) == 32);
	CHECK(output(&seen, &frame, NULL) && frame.len == 5);
	mux_release(&seen.mux);
}

int main(void)
{
	RUN(many_streams_are_found_and_take_turns);
	RUN(an_idle_stream_costs_little);
	RUN(windows_go_to_those_that_took);
	RUN(a_longer_message_breaks);
	RUN(what_the_user_does_not_take_goes_into_the_ring);
	RUN(what_was_taken_too_early_is_given_back);
	RUN(a_begun_frame_is_known);
	RUN(the_window_is_a_limit_too);
	RUN(a_stream_that_was_not_opened_is_refused);
	RUN(passed_on_bytes_count_against_the_window);
	RUN(a_user_may_close_or_release_while_it_takes);
	RUN(bytes_are_read_straight_into_the_ring);
	RUN(a_dropped_frame_leaves_its_stream_able_to_send);
	return DONE();
}
