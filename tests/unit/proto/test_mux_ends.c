/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mux_ends.c - how streams and epochs end
 */
#include "proto/mux.h"

#include <errno.h>

#include "base/error.h"
#include "lib/tap.h"
#include "proto/cursor.h"
#include "mux_seen.h"

static void close_tells_the_peer_unless_it_knows(void)
{
	struct seen seen;
	struct mux_stream *stream;
	struct frame frame;
	uint32_t value;

	start(&seen);
	mux_stream_close(mux_stream_open(&seen.mux, 1, NULL), EPIPE);
	CHECK(output(&seen, &frame, &value) && frame.type == FRAME_CLOSE);
	CHECK(value == EPIPE && seen.mux.stream_count == 0);

	stream = mux_stream_open(&seen.mux, 2, NULL);
	CHECK(input_u32(&seen, FRAME_CLOSE, 2, EIO) == 0);
	CHECK(stream->closed && stream->close_code == EIO);
	CHECK(input(&seen, FRAME_DATA, 2, "late", 4) == 0);
	CHECK(mux_stream_space(stream) == 0);
	mux_stream_close(stream, 0);
	CHECK(!output(&seen, &frame, NULL));

	stream = mux_stream_open(&seen.mux, 3, NULL);
	CHECK(input(&seen, FRAME_EOF, 3, NULL, 0) == 0);
	mux_stream_eof(stream);
	mux_stream_close(stream, 0);
	CHECK(output(&seen, &frame, NULL) && frame.type == FRAME_EOF);
	CHECK(!output(&seen, &frame, NULL));
	mux_release(&seen.mux);
}

static void a_begun_frame_is_finished_after_close(void)
{
	struct seen seen;
	struct mux_stream *stream;
	struct frame frame;
	uint8_t bytes[17];

	for (size_t begun = 0; begun <= 16; begun++) {
		start(&seen);
		stream = mux_stream_open(&seen.mux, 1, NULL);
		mux_stream_write(stream, "12345", 5);
		CHECK(mux_output_copy(&seen.mux, bytes, begun) == begun);
		mux_stream_close(stream, EPIPE);
		CHECK(!mux_stream_find(&seen.mux, 1));
		if (begun > 0) {
			size_t left = sizeof(bytes) - begun;

			CHECK(mux_output_copy(&seen.mux, bytes + begun, left) ==
			      left);
			CHECK(!memcmp(bytes + 12, "12345", 5));
		}
		CHECK(output(&seen, &frame, NULL));
		CHECK(frame.type == FRAME_CLOSE);
		CHECK(!output(&seen, &frame, NULL));
		mux_release(&seen.mux);
	}
	/* Released while half sent. */
	start(&seen);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	mux_stream_write(stream, "12345", 5);
	mux_output_copy(&seen.mux, bytes, 14);
	mux_stream_close(stream, EPIPE);
	mux_release(&seen.mux);
}

static void a_callback_may_close_any_stream(void)
{
	for (uint32_t victim = 1; victim <= 2; victim++) {
		struct seen seen;
		struct frame frame;

		start(&seen);
		seen.close_on_change = victim;
		mux_stream_open(&seen.mux, 1, NULL);
		mux_stream_write(mux_stream_open(&seen.mux, 2, NULL), "x", 1);
		CHECK(input(&seen, FRAME_DATA, 1, "abc", 3) == 0);
		CHECK(!mux_stream_find(&seen.mux, victim));
		/* From mux_sent(): the stream that was just sent. */
		seen.close_on_change = 2;
		output(&seen, &frame, NULL);
		output(&seen, &frame, NULL);
		CHECK(!mux_stream_find(&seen.mux, 2));
		mux_release(&seen.mux);
	}
}

static void a_message_may_close_the_stream_whose_data_is_under_way(void)
{
	struct frame data = { FRAME_DATA, 1, 4 };
	uint8_t bytes[FRAME_HEADER_BYTES + 4] = { 0 };
	struct seen seen;
	struct error err;

	start(&seen);
	seen.close_on_change = 1;
	mux_stream_open(&seen.mux, 1, NULL);
	frame_encode(&data, bytes);
	CHECK(mux_input(&seen.mux, bytes, 14, &err) == 0);
	CHECK(!mux_stream_find(&seen.mux, 1));
	CHECK(mux_input(&seen.mux, bytes + 14, 2, &err) == 0);
	seen.close_on_message = 2;
	mux_stream_open(&seen.mux, 2, NULL);
	CHECK(input(&seen, FRAME_MESSAGE, 0, "ab", 2) == 0);
	CHECK(!mux_stream_find(&seen.mux, 2));
	mux_release(&seen.mux);
}

static void a_message_may_ask_for_the_marker(void)
{
	static const uint8_t message[] = {
		FRAME_MESSAGE, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 'o', 'k'
	};
	struct seen seen;
	struct error err;

	for (size_t cut = 0; cut <= sizeof(message); cut++) {
		start(&seen);
		seen.expect_on_message = true;
		CHECK(!mux_input(&seen.mux, message, cut, &err));
		CHECK(!mux_input(&seen.mux, message + cut,
				 sizeof(message) - cut, &err));
		CHECK(!memcmp(seen.last_message, "ok", 2));
		CHECK(!mux_input(&seen.mux, "junk", 4, &err));
		CHECK(!mux_input(&seen.mux, marker, sizeof(marker), &err));
		CHECK(seen.markers == 1);
		mux_release(&seen.mux);
	}
}

static void the_marker_is_found_behind_parts_of_itself(void)
{
	for (size_t prefix = 0; prefix < MUX_MARKER_BYTES; prefix++) {
		struct seen seen;
		struct error err;
		uint8_t bytes[2 * MUX_MARKER_BYTES + 14];
		struct frame frame = { FRAME_MESSAGE, 0, 2 };
		size_t len = prefix + MUX_MARKER_BYTES + 14;

		memcpy(bytes, marker, prefix);
		memcpy(bytes + prefix, marker, MUX_MARKER_BYTES);
		frame_encode(&frame, bytes + prefix + MUX_MARKER_BYTES);
		bytes[len - 2] = bytes[len - 1] = 'm';
		for (size_t chunk = 1; chunk < len; chunk += 6) {
			start(&seen);
			mux_expect_marker(&seen.mux, marker);
			for (size_t at = 0; at < len; at += chunk)
				mux_input(&seen.mux, bytes + at,
					  len - at < chunk ? len - at : chunk,
					  &err);
			CHECK(seen.markers == 1 && seen.messages == 1);
			mux_release(&seen.mux);
		}
	}
}

static void a_marker_in_two_parts_with_other_bytes_between_is_none(void)
{
	const size_t half = MUX_MARKER_BYTES / 2;
	uint8_t other[64];
	struct seen seen;
	struct error err;

	memset(other, (uint8_t)~marker[0], sizeof(other));
	start(&seen);
	mux_expect_marker(&seen.mux, marker);
	CHECK(!mux_input(&seen.mux, marker, half, &err));
	CHECK(!mux_input(&seen.mux, other, sizeof(other), &err));
	CHECK(!mux_input(&seen.mux, marker + half, half, &err));
	CHECK(seen.markers == 0);
	CHECK(!mux_input(&seen.mux, marker, MUX_MARKER_BYTES, &err));
	CHECK(seen.markers == 1);
	mux_release(&seen.mux);
}

/* A snapshot was taken: the one machine goes on, the other is restored. */
static void a_watched_marker_comes_in_the_place_of_a_frame(void)
{
	uint8_t watched[MUX_MARKER_BYTES];
	struct seen seen;
	struct error err;

	memcpy(watched, marker, sizeof(watched));
	watched[0] |= MUX_MARKER_BIT;
	for (size_t cut = 0; cut <= MUX_MARKER_BYTES; cut++) {
		struct mux_stream *stream;

		start(&seen);
		stream = mux_stream_open(&seen.mux, 1, NULL);
		mux_watch_marker(&seen.mux, watched);
		CHECK(input(&seen, FRAME_DATA, 1, "goes on", 7) == 0);
		CHECK(!stream->closed && stream->in.len == 7);
		CHECK(!mux_input(&seen.mux, watched, cut, &err));
		CHECK(stream->closed == (cut > 0));
		CHECK(!mux_input(&seen.mux, watched + cut,
				 MUX_MARKER_BYTES - cut, &err));
		CHECK(seen.markers == 1 && stream->closed);
		CHECK(input(&seen, FRAME_MESSAGE, 0, "xy", 2) == 0);
		CHECK(seen.messages == 1);
		mux_release(&seen.mux);
	}
}

static void call_with(uint8_t letter, uint8_t bytes[CALL_BYTES])
{
	uint8_t random[CALL_WORD_BYTES];
	struct call call;

	memset(random, letter, sizeof(random));
	call_begin(&call, random);
	call_encode(&call, bytes);
}

static void who_calls_is_told_the_marker_that_is_awaited(void)
{
	uint8_t bytes[CALL_BYTES], out[256];
	struct seen seen;
	struct error err;

	for (size_t sent = 0; sent <= MUX_MARKER_BYTES; sent++) {
		start(&seen);
		seen.mux.limits = mux_net_limits;
		mux_expect_marker(&seen.mux, marker);
		mux_send_marker(&seen.mux, marker);
		CHECK(mux_output_copy(&seen.mux, out, sent) == sent);
		call_with('a', bytes);
		CHECK(!mux_input(&seen.mux, bytes, 20, &err));
		CHECK(!mux_input(&seen.mux, bytes + 20, sizeof(bytes) - 20,
				 &err));
		call_with('b', bytes);
		CHECK(!mux_input(&seen.mux, bytes, sizeof(bytes), &err));
		/* however much was not read: the last answer, and no other */
		CHECK(mux_output_copy(&seen.mux, out, sizeof(out)) ==
		      CALL_ANSWER_BYTES);
		CHECK(out[1] == 'b' &&
		      !memcmp(out + CALL_WORD_BYTES, marker, MUX_MARKER_BYTES));
		CHECK(!mux_input(&seen.mux, bytes, sizeof(bytes), &err));
		CHECK(mux_output_copy(&seen.mux, out, sizeof(out)) == 0);
		CHECK(!mux_input(&seen.mux, marker, sizeof(marker), &err));
		CHECK(seen.markers == 1);
		mux_release(&seen.mux);
	}
}

static void calls_are_heard_only_where_they_are_meant_to_be(void)
{
	uint8_t bytes[CALL_BYTES + MUX_MARKER_BYTES], out[256];
	struct seen seen;
	struct error err;

	call_with('a', bytes);
	memcpy(bytes + CALL_BYTES, marker, MUX_MARKER_BYTES);
	/* not on the control port */
	start(&seen);
	mux_expect_marker(&seen.mux, marker);
	CHECK(!mux_input(&seen.mux, bytes, CALL_BYTES, &err));
	CHECK(mux_output_copy(&seen.mux, out, sizeof(out)) == 0);
	mux_release(&seen.mux);
	/* not when the marker follows: frames do then */
	start(&seen);
	seen.mux.limits = mux_net_limits;
	mux_expect_marker(&seen.mux, marker);
	CHECK(!mux_input(&seen.mux, bytes, sizeof(bytes), &err));
	CHECK(seen.markers == 1);
	CHECK(mux_output_copy(&seen.mux, out, sizeof(out)) == 0);
	/* and not in an epoch */
	CHECK(mux_input(&seen.mux, bytes, CALL_BYTES, &err) == -1);
	mux_release(&seen.mux);
}

static void expecting_a_marker_ends_the_old_epoch(void)
{
	struct seen seen;
	struct mux_stream *stream;
	struct iovec iov[3];
	struct frame frame;
	uint8_t bytes[MUX_MARKER_BYTES];

	start(&seen);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	CHECK(input(&seen, FRAME_DATA, 1, "kept", 4) == 0);
	mux_stream_write(stream, "12345", 5);
	CHECK(mux_output(&seen.mux, iov) == 2);
	mux_sent(&seen.mux, 3);
	mux_send_message(&seen.mux, "mm", 2);
	mux_expect_marker(&seen.mux, marker);
	CHECK(mux_output(&seen.mux, iov) == 0);
	CHECK(stream->closed && stream->close_code == ECONNRESET);
	CHECK(stream->in.len == 4);
	mux_send_marker(&seen.mux, marker);
	mux_send_message(&seen.mux, "nn", 2);
	CHECK(mux_output_copy(&seen.mux, bytes, sizeof(bytes)) == 32);
	CHECK(!memcmp(bytes, marker, sizeof(bytes)));
	CHECK(output(&seen, &frame, NULL) && frame.type == FRAME_MESSAGE);
	mux_stream_close(stream, 0);
	CHECK(!output(&seen, &frame, NULL));
	mux_release(&seen.mux);
}

static void a_marker_cuts_what_was_half_sent(void)
{
	struct seen seen;
	struct frame frame;
	uint8_t bytes[MUX_MARKER_BYTES];
	uint32_t value = 0;

	start(&seen);
	mux_send_message(&seen.mux, "aaaa", 4);
	mux_send_message(&seen.mux, "bbbb", 4);
	mux_send_message(&seen.mux, "cccc", 4);
	CHECK(mux_output_copy(&seen.mux, bytes, 18) == 18); /* into b */
	mux_send_marker(&seen.mux, marker);
	CHECK(mux_output_copy(&seen.mux, bytes, sizeof(bytes)) == 32);
	CHECK(!memcmp(bytes, marker, sizeof(bytes)));
	CHECK(output(&seen, &frame, &value) && value == 0x63636363);
	CHECK(!output(&seen, &frame, NULL));
	mux_release(&seen.mux);
}

/* DATA on two streams, a message, DATA again; the users give up meanwhile. */
static void a_callback_may_release_everything(void)
{
	static const struct frame frames[] = { { FRAME_DATA, 1, 3 },
					       { FRAME_DATA, 2, 3 },
					       { FRAME_MESSAGE, 0, 3 },
					       { FRAME_DATA, 1, 3 } };
	uint8_t bytes[4 * 15] = { 0 };

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++)
		frame_encode(&frames[i], bytes + 15 * i);
	for (int change = 0; change < 2; change++) {
		for (size_t cut = 1; cut < sizeof(bytes); cut++) {
			struct seen seen;
			struct error err;

			start(&seen);
			seen.release_on_change = change;
			seen.release_on_message = !change;
			mux_stream_open(&seen.mux, 1, NULL);
			mux_stream_open(&seen.mux, 2, NULL);
			if (!mux_input(&seen.mux, bytes, cut, &err))
				mux_input(&seen.mux, bytes + cut,
					  sizeof(bytes) - cut, &err);
			CHECK(mux_input(&seen.mux, bytes, 1, &err) == -1);
			CHECK(seen.mux.stream_count == 0);
			CHECK(change ? seen.changes == 1 : seen.messages == 1);
			mux_release(&seen.mux);
		}
	}
}

static void a_callback_may_release_while_sending(void)
{
	struct seen seen;
	uint8_t bytes[64];

	start(&seen);
	seen.release_on_change = true;
	mux_stream_write(mux_stream_open(&seen.mux, 1, NULL), "abc", 3);
	mux_stream_write(mux_stream_open(&seen.mux, 2, NULL), "def", 3);
	CHECK(mux_output_copy(&seen.mux, bytes, sizeof(bytes)) == 15);
	CHECK(seen.mux.stream_count == 0);
}

int main(void)
{
	RUN(close_tells_the_peer_unless_it_knows);
	RUN(a_begun_frame_is_finished_after_close);
	RUN(a_callback_may_close_any_stream);
	RUN(a_message_may_close_the_stream_whose_data_is_under_way);
	RUN(a_message_may_ask_for_the_marker);
	RUN(the_marker_is_found_behind_parts_of_itself);
	RUN(a_marker_in_two_parts_with_other_bytes_between_is_none);
	RUN(a_watched_marker_comes_in_the_place_of_a_frame);
	RUN(who_calls_is_told_the_marker_that_is_awaited);
	RUN(calls_are_heard_only_where_they_are_meant_to_be);
	RUN(expecting_a_marker_ends_the_old_epoch);
	RUN(a_marker_cuts_what_was_half_sent);
	RUN(a_callback_may_release_everything);
	RUN(a_callback_may_release_while_sending);
	return DONE();
}
