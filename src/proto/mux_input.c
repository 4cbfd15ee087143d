/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux_input.c - many streams over one channel: what is received
 *
 * DATA goes straight from the given bytes to its user or into its stream's
 * ring, also when the frame is not complete yet; its room was checked with its
 * header. Every
 * other frame is used where it lies when all of it is there, else it is
 * collected in mux->input. Users hear of their streams before a message that
 * came after them, and once for all that one call brought.
 */
#include "proto/mux.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "proto/cursor.h"
#include "proto/mux_internal.h"

static int broken(struct mux *mux, struct error *err, const char *why)
{
	mux->broken = true;
	return error_set(err, EPROTO, "guest channel: %s", why);
}

/* Not with the marker behind it: who called has heard it since. */
static void hear_calls(struct mux *mux, const uint8_t *bytes, size_t len)
{
	if (!mux->limits.answers_calls || !call_hear(&mux->ear, bytes, len))
		return;
	call_answer(&mux->ear, mux->marker, mux->marker_out);
	mux->marker_left = CALL_ANSWER_BYTES;
}

static size_t search_marker(struct mux *mux, const uint8_t *bytes, size_t len)
{
	size_t i = 0, seen = mux->marker_seen;

	while (i < len && seen < MUX_MARKER_BYTES) {
		if (seen == 0) {
			const uint8_t *first =
				memchr(bytes + i, mux->marker[0], len - i);

			if (!first)
				break;
			i = (size_t)(first - bytes);
		}
		while (seen > 0 && bytes[i] != mux->marker[seen])
			seen = mux->fallback[seen - 1];
		if (bytes[i] == mux->marker[seen])
			seen++;
		i++;
	}
	mux->marker_seen = seen;
	if (seen < MUX_MARKER_BYTES) {
		hear_calls(mux, bytes, len);
		return len;
	}
	mux->marker_seen = 0;
	mux->awaiting_marker = false;
	mux_tell_users(mux);
	if (!mux->broken)
		mux->ops->on_marker(mux->ctx);
	return i;
}

static size_t receive_data(struct mux *mux, const uint8_t *bytes, size_t len)
{
	struct mux_stream *stream = mux->receiving;
	size_t used = 0;

	if (len > mux->data_left)
		len = mux->data_left;
	mux->data_left -= (uint32_t)len;
	if (!stream)
		return len;
	if (mux->ops->on_data && !stream->in.len) {
		used = mux->ops->on_data(mux->ctx, stream, bytes, len);
		if (mux->receiving != stream)
			return len; /* closed by its user */
		mux_note_taken(stream, used);
	}
	if (used < len) {
		ring_write(&stream->in, bytes + used, len - used);
		mux_count_memory(stream);
		mux_mark(stream);
	}
	return len;
}

/* The stream of a frame, or NULL when the frame is to be dropped. */
static struct mux_stream *open_stream(struct mux *mux, uint32_t id)
{
	struct mux_stream *stream = mux_stream_find(mux, id);

	return stream && !stream->closed ? stream : NULL;
}

static int begin_data(struct mux *mux, uint32_t id, uint32_t len,
		      struct error *err)
{
	struct mux_stream *stream = open_stream(mux, id);

	if (stream && stream->peer_eof)
		return broken(mux, err, "DATA after EOF");
	if (stream &&
	    len > mux->limits.window - stream->in.len - stream->ungranted)
		return broken(mux, err, "DATA beyond the window");
	mux->receiving = stream;
	mux->data_left = len;
	return 0;
}

static int receive_slot(struct mux *mux, const struct frame *frame,
			const uint8_t *payload, struct error *err)
{
	struct cursor c = cursor_over(payload, frame->len);
	uint32_t slot = cursor_u32(&c), len = cursor_u32(&c);

	if (!mux->slots_in || slot >= SLOT_COUNT || len == 0 ||
	    len > SLOT_BYTES)
		return broken(mux, err, "no such slot");
	if (begin_data(mux, frame->stream, len, err) < 0)
		return -1;
	mux->slots_used |= 1ULL << slot;
	receive_data(mux, mux->slots_in + (size_t)slot * SLOT_BYTES, len);
	return 0;
}

static int receive_free(struct mux *mux, const struct frame *frame,
			const uint8_t *payload, struct error *err)
{
	struct cursor c = cursor_over(payload, frame->len);
	uint64_t slots = cursor_u64(&c);

	if (!mux->slots_out || !slots || (slots & mux->slots_free))
		return broken(mux, err, "FREE of what is free");
	mux->slots_free |= slots;
	return 0;
}

static int receive_window(struct mux *mux, struct mux_stream *stream,
			  uint32_t grant, struct error *err)
{
	if (grant == 0)
		return broken(mux, err, "empty WINDOW");
	if (grant > mux->limits.window - stream->may_send)
		return broken(mux, err, "WINDOW over the maximum");
	stream->may_send += grant;
	mux_update_ready(stream);
	return 0;
}

static int receive_stream_frame(struct mux *mux, const struct frame *frame,
				const uint8_t *payload, struct error *err)
{
	struct mux_stream *stream = open_stream(mux, frame->stream);
	struct cursor c = cursor_over(payload, frame->len);

	if (!stream)
		return 0;
	if (frame->type == FRAME_WINDOW)
		return receive_window(mux, stream, cursor_u32(&c), err);
	if (frame->type == FRAME_CLOSE) {
		stream->closed = true;
		stream->close_code = cursor_u32(&c);
		mux_update_ready(stream);
	} else if (stream->peer_eof) {
		return broken(mux, err, "second EOF");
	} else {
		stream->peer_eof = true;
	}
	mux_mark(stream);
	return 0;
}

static int receive_frame(struct mux *mux, const struct frame *frame,
			 const uint8_t *payload, struct error *err)
{
	if (frame->type == FRAME_SLOT)
		return receive_slot(mux, frame, payload, err);
	if (frame->type == FRAME_FREE)
		return receive_free(mux, frame, payload, err);
	if (frame->type != FRAME_MESSAGE)
		return receive_stream_frame(mux, frame, payload, err);
	mux_tell_users(mux);
	if (!mux->broken)
		mux->ops->on_message(mux->ctx, payload, frame->len);
	return 0;
}

/* What was collected is one whole frame; users may reset mux->input. */
static int receive_collected(struct mux *mux, struct error *err)
{
	AUTO_BUFFER struct buffer whole = mux->input;
	struct frame frame = mux->incoming;

	buffer_init(&mux->input, whole.max);
	return receive_frame(mux, &frame, whole.data + FRAME_HEADER_BYTES, err);
}

static int decode_header(struct mux *mux, const uint8_t *bytes,
			 struct error *err)
{
	if (frame_decode(bytes, &mux->incoming) < 0)
		return broken(mux, err, "not a frame");
	if (mux->incoming.type == FRAME_MESSAGE &&
	    mux->incoming.len > mux->limits.message_max)
		return broken(mux, err, "a message that is too long");
	if (mux->incoming.type != FRAME_DATA)
		return 0;
	return begin_data(mux, mux->incoming.stream, mux->incoming.len, err);
}

static size_t collect(struct mux *mux, size_t limit, const uint8_t *bytes,
		      size_t len)
{
	if (len > limit - mux->input.len)
		len = limit - mux->input.len;
	/* limit is at most the buffer's maximum: it cannot fail. */
	buffer_append(&mux->input, bytes, len);
	return len;
}

/* The frame was cut by the end of an earlier call. */
static long continue_frame(struct mux *mux, const uint8_t *bytes, size_t len,
			   struct error *err)
{
	size_t used = 0;

	if (mux->input.len < FRAME_HEADER_BYTES) {
		used = collect(mux, FRAME_HEADER_BYTES, bytes, len);
		if (mux->input.len < FRAME_HEADER_BYTES)
			return (long)used;
		if (decode_header(mux, mux->input.data, err) < 0)
			return -1;
		if (mux->incoming.type == FRAME_DATA) {
			mux->input.len = 0;
			return (long)used;
		}
	}
	used += collect(mux, FRAME_HEADER_BYTES + mux->incoming.len,
			bytes + used, len - used);
	if (mux->input.len < FRAME_HEADER_BYTES + mux->incoming.len)
		return (long)used;
	return receive_collected(mux, err) < 0 ? -1 : (long)used;
}

static long begin_frame(struct mux *mux, const uint8_t *bytes, size_t len,
			struct error *err)
{
	struct frame frame;
	size_t total;

	if (len < FRAME_HEADER_BYTES)
		return continue_frame(mux, bytes, len, err);
	if (decode_header(mux, bytes, err) < 0)
		return -1;
	frame = mux->incoming;
	if (frame.type == FRAME_DATA)
		return FRAME_HEADER_BYTES;
	total = FRAME_HEADER_BYTES + frame.len;
	if (len < total)
		return (long)collect(mux, total, bytes, len);
	if (receive_frame(mux, &frame, bytes + FRAME_HEADER_BYTES, err) < 0)
		return -1;
	return (long)total;
}

/* Uses some of the bytes; returns how many, or -1. */
static long receive(struct mux *mux, const uint8_t *bytes, size_t len,
		    struct error *err)
{
	if (mux->awaiting_marker)
		return (long)search_marker(mux, bytes, len);
	if (mux->data_left > 0)
		return (long)receive_data(mux, bytes, len);
	if (mux->input.len > 0)
		return continue_frame(mux, bytes, len, err);
	if (mux->watching && (bytes[0] & MUX_MARKER_BIT)) {
		uint8_t marker[MUX_MARKER_BYTES];

		memcpy(marker, mux->marker, sizeof(marker));
		mux->watching = false;
		mux_expect_marker(mux, marker);
		return (long)search_marker(mux, bytes, len);
	}
	return begin_frame(mux, bytes, len, err);
}

const struct mux_stream *mux_receiving(const struct mux *mux)
{
	return mux->data_left > 0 ? mux->receiving : NULL;
}

int mux_input(struct mux *mux, const void *bytes, size_t len, struct error *err)
{
	const uint8_t *at = bytes;

	if (mux->broken)
		return broken(mux, err, "broken before");
	while (len > 0 && !mux->broken) {
		long used = receive(mux, at, len, err);

		if (used < 0)
			return -1;
		at += used;
		len -= (size_t)used;
	}
	mux_tell_users(mux);
	return 0;
}
