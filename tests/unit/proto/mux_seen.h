/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux_seen.h - one end of a channel whose users only note what they see
 */
#pragma once

#include "proto/mux.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "proto/cursor.h"

struct seen {
	struct mux mux;
	unsigned messages, changes, markers;
	uint8_t last_message[64];
	size_t last_len;
	size_t in_at_message; /* bytes in stream 1 when the message came */
	uint32_t close_on_change;
	uint32_t close_on_message;
	bool expect_on_message;
	bool release_on_change, release_on_message;
};

static const uint8_t marker[MUX_MARKER_BYTES] =
	"abababcabababd..ABABABCabababd!";

static inline void on_message(void *ctx, const uint8_t *payload, size_t len)
{
	struct seen *seen = ctx;
	struct mux_stream *stream = mux_stream_find(&seen->mux, 1);

	seen->messages++;
	seen->in_at_message = stream ? stream->in.len : 0;
	stream = mux_stream_find(&seen->mux, seen->close_on_message);
	if (stream)
		mux_stream_close(stream, EPIPE);
	if (seen->expect_on_message)
		mux_expect_marker(&seen->mux, marker);
	/* The payload must have outlived all that. */
	seen->last_len = len < 64 ? len : 64;
	memcpy(seen->last_message, payload, seen->last_len);
	if (seen->release_on_message)
		mux_release(&seen->mux);
}

static inline void on_stream(void *ctx, struct mux_stream *stream)
{
	struct seen *seen = ctx;

	seen->changes++;
	stream = mux_stream_find(&seen->mux, seen->close_on_change);
	if (stream)
		mux_stream_close(stream, EPIPE);
	if (seen->release_on_change)
		mux_release(&seen->mux);
}

static inline void on_marker(void *ctx)
{
	((struct seen *)ctx)->markers++;
}

static const struct mux_ops ops = { .on_message = on_message,
				    .on_stream = on_stream,
				    .on_marker = on_marker };

static inline void start(struct seen *seen)
{
	*seen = (struct seen){ 0 };
	mux_init(&seen->mux, &mux_control_limits, &ops, seen);
}

static inline int input(struct seen *seen, enum frame_type type,
			uint32_t stream, const void *payload, uint32_t len)
{
	static uint8_t bytes[FRAME_HEADER_BYTES + FRAME_MESSAGE_MAX];
	struct frame frame = { .type = type, .stream = stream, .len = len };
	struct error err;

	frame_encode(&frame, bytes);
	if (len)
		memcpy(bytes + FRAME_HEADER_BYTES, payload, len);
	return mux_input(&seen->mux, bytes, FRAME_HEADER_BYTES + len, &err);
}

static inline int input_u32(struct seen *seen, enum frame_type type,
			    uint32_t stream, uint32_t value)
{
	uint8_t bytes[4];
	struct writer w = writer_over(bytes, sizeof(bytes));

	writer_u32(&w, value);
	return input(seen, type, stream, bytes, 4);
}

/* Takes one whole frame of the output. */
static inline bool output(struct seen *seen, struct frame *frame,
			  uint32_t *value)
{
	static uint8_t bytes[FRAME_MESSAGE_MAX];
	uint8_t header[FRAME_HEADER_BYTES];
	struct cursor c = cursor_over(bytes, 4);

	if (mux_output_copy(&seen->mux, header, sizeof(header)) !=
		    sizeof(header) ||
	    frame_decode(header, frame) < 0)
		return false;
	if (mux_output_copy(&seen->mux, bytes, frame->len) != frame->len)
		return false;
	if (value)
		*value = cursor_u32(&c);
	return true;
}
