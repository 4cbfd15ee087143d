/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mux.c - windows, turns and order, against frames written by hand
 */
#include "proto/mux.h"

#include <errno.h>

#include "base/error.h"
#include "lib/tap.h"
#include "proto/cursor.h"
#include "mux_seen.h"

static void data_beyond_the_window_breaks(void)
{
	static const uint8_t bytes[FRAME_DATA_MAX];
	struct seen seen;
	struct mux_stream *stream;

	start(&seen);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	for (unsigned i = 0; i < MUX_WINDOW / FRAME_DATA_MAX; i++)
		CHECK(input(&seen, FRAME_DATA, 1, bytes, sizeof(bytes)) == 0);
	CHECK(stream->in.len == MUX_WINDOW);
	mux_stream_take(stream, MUX_WINDOW);
	/* Taken, but not granted: the WINDOW frame has not been made. */
	CHECK(input(&seen, FRAME_DATA, 1, bytes, 1) == -1);
	CHECK(input(&seen, FRAME_EOF, 1, NULL, 0) == -1);
	mux_release(&seen.mux);
}

static void window_is_granted_when_bytes_are_taken(void)
{
	static const uint8_t bytes[FRAME_DATA_MAX];
	struct seen seen;
	struct mux_stream *stream;
	struct frame frame;
	uint32_t value = 0;

	start(&seen);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	for (unsigned i = 0; i < MUX_WINDOW / FRAME_DATA_MAX; i++)
		CHECK(input(&seen, FRAME_DATA, 1, bytes, sizeof(bytes)) == 0);
	mux_stream_take(stream, 100);
	CHECK(!output(&seen, &frame, NULL));
	mux_stream_take(stream, MUX_WINDOW - 100);
	CHECK(!stream->in.data);
	CHECK(output(&seen, &frame, &value));
	CHECK(frame.type == FRAME_WINDOW && frame.stream == 1);
	CHECK(value == MUX_WINDOW);
	CHECK(!output(&seen, &frame, NULL));
	CHECK(input(&seen, FRAME_DATA, 1, bytes, sizeof(bytes)) == 0);
	mux_release(&seen.mux);
}

static void a_grant_over_the_maximum_breaks(void)
{
	struct seen seen;
	struct mux_stream *stream;
	struct frame frame;

	start(&seen);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	mux_stream_write(stream, "12345", 5);
	CHECK(output(&seen, &frame, NULL) && frame.len == 5);
	CHECK(input_u32(&seen, FRAME_WINDOW, 1, 5) == 0);
	CHECK(input_u32(&seen, FRAME_WINDOW, 1, 1) == -1);
	mux_release(&seen.mux);

	start(&seen);
	mux_stream_open(&seen.mux, 1, NULL);
	CHECK(input_u32(&seen, FRAME_WINDOW, 1, UINT32_MAX) == -1);
	mux_release(&seen.mux);

	start(&seen);
	mux_stream_open(&seen.mux, 1, NULL);
	CHECK(input_u32(&seen, FRAME_WINDOW, 1, 0) == -1);
	mux_release(&seen.mux);
}

static void data_and_eof_after_eof_break(void)
{
	struct seen seen;

	for (int again = 0; again < 2; again++) {
		start(&seen);
		mux_stream_open(&seen.mux, 1, NULL);
		CHECK(input(&seen, FRAME_EOF, 1, NULL, 0) == 0);
		CHECK(mux_stream_find(&seen.mux, 1)->peer_eof);
		if (again)
			CHECK(input(&seen, FRAME_EOF, 1, NULL, 0) == -1);
		else
			CHECK(input(&seen, FRAME_DATA, 1, "x", 1) == -1);
		mux_release(&seen.mux);
	}
}

static void frames_of_unknown_streams_are_dropped(void)
{
	struct seen seen;

	start(&seen);
	CHECK(input(&seen, FRAME_DATA, 9, "hello", 5) == 0);
	CHECK(input(&seen, FRAME_EOF, 9, NULL, 0) == 0);
	CHECK(input_u32(&seen, FRAME_WINDOW, 9, UINT32_MAX) == 0);
	CHECK(input_u32(&seen, FRAME_CLOSE, 9, 1) == 0);
	CHECK(input(&seen, FRAME_MESSAGE, 0, "ab", 2) == 0);
	CHECK(seen.changes == 0 && seen.messages == 1);
	mux_release(&seen.mux);
}

static void streams_hear_before_a_later_message(void)
{
	static uint8_t bytes[256];
	struct frame data = { FRAME_DATA, 1, 3 },
		     message = { FRAME_MESSAGE, 0, 2 };
	struct seen seen;
	struct error err;

	start(&seen);
	mux_stream_open(&seen.mux, 1, NULL);
	frame_encode(&data, bytes);
	frame_encode(&message, bytes + 15);
	CHECK(mux_input(&seen.mux, bytes, 29, &err) == 0);
	CHECK(seen.in_at_message == 3 && seen.changes == 1);
	mux_release(&seen.mux);
}

static void input_may_be_cut_anywhere(void)
{
	uint8_t bytes[128];
	struct writer w = writer_over(bytes, sizeof(bytes));
	struct frame frames[] = { { FRAME_DATA, 1, 7 },
				  { FRAME_MESSAGE, 0, 20 },
				  { FRAME_WINDOW, 1, 4 },
				  { FRAME_EOF, 1, 0 } };
	size_t len;

	for (size_t i = 0; i < ARRAY_SIZE(frames); i++) {
		uint8_t header[FRAME_HEADER_BYTES];

		frame_encode(&frames[i], header);
		writer_bytes(&w, header, sizeof(header));
		for (uint32_t n = 0; n < frames[i].len; n++)
			writer_u8(&w, n == 0);
	}
	len = writer_len(&w);
	for (size_t cut = 0; cut <= len; cut++) {
		struct seen seen;
		struct mux_stream *stream;
		struct error err;

		start(&seen);
		stream = mux_stream_open(&seen.mux, 1, NULL);
		stream->may_send = 10;
		CHECK(!mux_input(&seen.mux, bytes, cut, &err));
		CHECK(!mux_input(&seen.mux, bytes + cut, len - cut, &err));
		CHECK(stream->in.len == 7 && stream->peer_eof);
		CHECK(stream->may_send == 11);
		CHECK(seen.messages == 1 && seen.last_message[0] == 1);
		mux_release(&seen.mux);
	}
}

static void messages_go_before_data_but_never_inside_a_frame(void)
{
	struct seen seen;
	struct mux_stream *stream;
	struct iovec iov[3];
	struct frame frame;
	uint8_t rest[7];

	start(&seen);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	mux_stream_write(stream, "12345", 5);
	CHECK(mux_output(&seen.mux, iov) == 2);
	mux_sent(&seen.mux, 10); /* two bytes short of the header */
	mux_send_message(&seen.mux, "mm", 2);
	CHECK(mux_output_copy(&seen.mux, rest, 7) == 7);
	CHECK(!memcmp(rest + 2, "12345", 5));
	mux_stream_write(stream, "6", 1);
	CHECK(output(&seen, &frame, NULL) && frame.type == FRAME_MESSAGE);
	CHECK(output(&seen, &frame, NULL) && frame.type == FRAME_DATA);
	CHECK(!stream->out.data);
	mux_release(&seen.mux);
}

static void streams_take_turns(void)
{
	static const uint8_t bytes[MUX_WINDOW];
	struct seen seen;
	struct frame frame;

	start(&seen);
	for (uint32_t id = 1; id <= 3; id++)
		mux_stream_write(mux_stream_open(&seen.mux, id, NULL), bytes,
				 sizeof(bytes));
	for (uint32_t turn = 0; turn < 9; turn++) {
		CHECK(output(&seen, &frame, NULL));
		CHECK(frame.type == FRAME_DATA);
		CHECK(frame.stream == 1 + turn % 3);
	}
	mux_release(&seen.mux);
}

static void a_sender_stops_at_the_window(void)
{
	static const uint8_t bytes[MUX_WINDOW];
	struct seen seen;
	struct mux_stream *stream;
	struct frame frame;
	size_t sent = 0;

	start(&seen);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	CHECK(mux_stream_write(stream, bytes, sizeof(bytes)) == MUX_WINDOW);
	CHECK(mux_stream_space(stream) == 0);
	CHECK(mux_stream_write(stream, bytes, 1) == 0);
	while (output(&seen, &frame, NULL))
		sent += frame.len;
	CHECK(sent == MUX_WINDOW && seen.changes > 0);
	mux_stream_write(stream, bytes, 100);
	CHECK(!output(&seen, &frame, NULL));
	CHECK(input_u32(&seen, FRAME_WINDOW, 1, 60) == 0);
	CHECK(output(&seen, &frame, NULL) && frame.len == 60);
	CHECK(!output(&seen, &frame, NULL));
	mux_release(&seen.mux);
}

static void eof_follows_the_last_byte_and_a_later_message_follows_eof(void)
{
	struct seen seen;
	struct mux_stream *stream;
	struct frame frame;

	start(&seen);
	stream = mux_stream_open(&seen.mux, 1, NULL);
	mux_stream_write(stream, "12345", 5);
	mux_stream_eof(stream);
	mux_stream_eof(stream);
	CHECK(mux_stream_write(stream, "x", 1) == 0);
	CHECK(output(&seen, &frame, NULL) && frame.type == FRAME_DATA);
	CHECK(stream->our_eof && stream->out.len == 0 && seen.changes == 1);
	mux_send_message(&seen.mux, "mm", 2);
	CHECK(output(&seen, &frame, NULL) && frame.type == FRAME_EOF);
	CHECK(output(&seen, &frame, NULL) && frame.type == FRAME_MESSAGE);
	CHECK(!output(&seen, &frame, NULL));
	mux_release(&seen.mux);
}

static void queued_messages_are_bounded(void)
{
	static const uint8_t bytes[FRAME_MESSAGE_MAX + 1];
	struct seen seen;
	unsigned sent = 0;

	start(&seen);
	CHECK(mux_send_message(&seen.mux, bytes, 1) == -1);
	CHECK(mux_send_message(&seen.mux, bytes, sizeof(bytes)) == -1);
	while (mux_send_message(&seen.mux, bytes, 65536) == 0)
		sent++;
	CHECK(sent == 15);
	CHECK(seen.mux.messages.len <= MUX_MESSAGES_MAX);
	mux_release(&seen.mux);
}

static void streams_are_bounded_and_ids_are_unique(void)
{
	struct seen seen;

	start(&seen);
	CHECK(!mux_stream_open(&seen.mux, 0, NULL));
	for (uint32_t id = 1; id <= 256; id++)
		CHECK(mux_stream_open(&seen.mux, id, &seen)->owner == &seen);
	CHECK(!mux_stream_open(&seen.mux, 257, NULL));
	mux_stream_close(mux_stream_find(&seen.mux, 7), 0);
	CHECK(!mux_stream_open(&seen.mux, 8, NULL));
	CHECK(mux_stream_open(&seen.mux, 7, NULL));
	mux_release(&seen.mux);
}

int main(void)
{
	RUN(data_beyond_the_window_breaks);
	RUN(window_is_granted_when_bytes_are_taken);
	RUN(a_grant_over_the_maximum_breaks);
	RUN(data_and_eof_after_eof_break);
	RUN(frames_of_unknown_streams_are_dropped);
	RUN(streams_hear_before_a_later_message);
	RUN(input_may_be_cut_anywhere);
	RUN(messages_go_before_data_but_never_inside_a_frame);
	RUN(streams_take_turns);
	RUN(a_sender_stops_at_the_window);
	RUN(eof_follows_the_last_byte_and_a_later_message_follows_eof);
	RUN(queued_messages_are_bounded);
	RUN(streams_are_bounded_and_ids_are_unique);
	return DONE();
}
