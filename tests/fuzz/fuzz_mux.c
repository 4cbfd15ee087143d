/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_mux.c - a hostile peer against one end of the channel
 *
 * The first byte says how the users behave, the rest is what the peer sends.
 * Whatever comes: memory stays within its bounds, and what goes out is frames
 * within the window.
 */
#include "proto/mux.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "lib/fuzz.h"
#include "proto/messages.h"

enum behaviour {
	EXPECT_MARKER = 1 << 0,
	SMALL_CHUNKS = 1 << 1,
	USERS_CLOSE = 1 << 2,
	USERS_STALL = 1 << 3,
	PASS_ON = 1 << 4, /* users take DATA as it comes, or some of it */
	WRITE_SLOTS = 1 << 5,
	READ_SLOTS = 1 << 6,
	HEAR_CALLS = 1 << 7,
};

struct end {
	struct mux mux;
	unsigned behaviour;
	unsigned calls;
};

static void on_message(void *ctx, const uint8_t *payload, size_t len)
{
	struct end *end = ctx;
	struct message message;

	FUZZ_CHECK(len >= 2 && len <= FRAME_MESSAGE_MAX);
	if (message_decode(payload, len, &message) < 0)
		return;
	if (message.type == MESSAGE_PREPARE)
		mux_expect_marker(&end->mux, message.prepare.marker);
	if (message.type == MESSAGE_STATS)
		mux_send_message(&end->mux, payload, len);
	if (message.type == MESSAGE_SESSION_START)
		mux_stream_open(&end->mux, message.session_start.stdio_stream,
				end);
}

static void on_stream(void *ctx, struct mux_stream *stream)
{
	struct end *end = ctx;
	struct mux_stream *other;

	FUZZ_CHECK(stream->in.len <= MUX_WINDOW);
	end->calls++;
	if (stream->closed) {
		mux_stream_close(stream, 0);
		return;
	}
	if (stream->in.len > 0 && !(end->behaviour & USERS_STALL)) {
		mux_stream_write(stream, "echo", 4);
		mux_stream_take(stream, stream->in.len);
	}
	if (stream->peer_eof)
		mux_stream_eof(stream);
	if (!(end->behaviour & USERS_CLOSE) || end->calls % 3)
		return;
	other = mux_stream_find(&end->mux, 1 + end->calls % 4);
	if (other)
		mux_stream_close(other, EPIPE);
}

static void on_marker(void *ctx)
{
	struct end *end = ctx;

	mux_send_marker(&end->mux, end->mux.marker);
}

static size_t on_data(void *ctx, struct mux_stream *stream,
		      const uint8_t *bytes, size_t len)
{
	struct end *end = ctx;

	FUZZ_CHECK(stream->in.len == 0 && len > 0);
	if (!(end->behaviour & PASS_ON))
		return 0;
	end->calls++;
	if (end->behaviour & USERS_CLOSE && end->calls % 5 == 0)
		mux_stream_close(stream, EPIPE);
	return bytes[0] % 2 ? len : len / 2;
}

static const struct mux_ops ops = { .on_message = on_message,
				    .on_stream = on_stream,
				    .on_marker = on_marker,
				    .on_data = on_data };

static void drain(struct end *end, size_t most)
{
	uint8_t bytes[4096];
	size_t len;

	do {
		len = mux_output_copy(&end->mux, bytes,
				      most < sizeof(bytes) ? most
							   : sizeof(bytes));
		most -= len;
	} while (len > 0 && most > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t bulk[8192];
	static uint8_t slots[SLOTS_BYTES];
	struct end end = { .behaviour = size ? data[0] : 0 };
	uint8_t marker[MUX_MARKER_BYTES];
	size_t chunk = end.behaviour & SMALL_CHUNKS ? 7 : 4096;
	struct error err;

	mux_init(&end.mux, &mux_control_limits, &ops, &end);
	end.mux.limits.answers_calls = end.behaviour & HEAR_CALLS;
	if (end.behaviour & WRITE_SLOTS)
		mux_write_slots(&end.mux, slots);
	if (end.behaviour & READ_SLOTS)
		mux_read_slots(&end.mux, slots);
	for (size_t i = 0; i < sizeof(marker); i++)
		marker[i] = (uint8_t)(0x40 + i);
	for (uint32_t id = 1; id <= 4; id++)
		mux_stream_write(mux_stream_open(&end.mux, id, NULL), bulk,
				 id * 2048);
	if (end.behaviour & EXPECT_MARKER)
		mux_expect_marker(&end.mux, marker);
	for (size_t at = 1; at < size; at += chunk) {
		size_t len = size - at < chunk ? size - at : chunk;

		if (mux_input(&end.mux, data + at, len, &err) < 0)
			break;
		drain(&end, data[at] * 64u);
		FUZZ_CHECK(end.mux.input.len <=
			   FRAME_HEADER_BYTES + FRAME_MESSAGE_MAX);
		FUZZ_CHECK(end.mux.marker_left <= CALL_ANSWER_BYTES);
	}
	drain(&end, SIZE_MAX);
	mux_release(&end.mux);
	return 0;
}
