/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux_output.c - many streams over one channel: what is sent
 *
 * Sending has three sources, in this order: the marker of a new epoch, the
 * queue of messages and small frames, and the streams' DATA. A DATA frame is
 * never copied: its header lies in the mux and its payload in the stream's
 * ring. Once its first byte went out the frame must be finished, so a stream
 * that is closed meanwhile lives on, unlisted, until then.
 *
 * Where the peer reads slots, as much as is worth it is copied there, and the
 * frames that say so are queued: they are sent with nothing in between.
 *
 * EOF and CLOSE are queued at most once for each stream. WINDOW is queued only
 * when the queue is empty: a peer that does not read gets no window, and so
 * cannot make the queue grow by sending.
 *
 * Who has sent a frame goes to the end of the list of those that may.
 */
#include "proto/mux.h"

#include <assert.h>
#include <string.h>

#include "proto/cursor.h"
#include "proto/mux_internal.h"

/* A frame with its header is one write of 32 KiB for virtio-serial. */
#define PAYLOAD_BYTES (FRAME_DATA_MAX - FRAME_HEADER_BYTES)
#define WINDOWS_AT_ONCE 1024

void mux_update_ready(struct mux_stream *stream)
{
	struct mux *mux = stream->mux;

	if (mux->sending == stream)
		return; /* when its frame has been sent */
	if (stream->closed || !stream->out.len || !stream->may_send)
		list_remove(&stream->ready);
	else if (list_empty(&stream->ready))
		list_append(&mux->ready, &stream->ready);
}

void mux_drop_frame(struct mux *mux)
{
	struct mux_stream *stream = mux->sending;

	mux->sending = NULL;
	mux->header_left = mux->payload_left = 0;
	if (stream && stream->orphan)
		mux_free_stream(stream);
	else if (stream)
		mux_update_ready(stream);
}

static void queue_frame(struct mux *mux, const struct frame *frame,
			uint64_t value)
{
	uint8_t bytes[FRAME_HEADER_BYTES + 8];
	struct writer w = writer_over(bytes + FRAME_HEADER_BYTES, 8);

	frame_encode(frame, bytes);
	writer_u64(&w, value); /* small ones lie in its first bytes */
	if (buffer_append(&mux->messages, bytes,
			  FRAME_HEADER_BYTES + frame->len) < 0)
		mux->stuck = true;
}

void mux_queue_eof(struct mux_stream *stream)
{
	struct frame frame = { .type = FRAME_EOF, .stream = stream->id };

	queue_frame(stream->mux, &frame, 0);
	stream->eof_sent = true;
}

void mux_queue_close(struct mux_stream *stream, uint32_t code)
{
	struct frame frame = { .type = FRAME_CLOSE,
			       .stream = stream->id,
			       .len = 4 };

	queue_frame(stream->mux, &frame, code);
}

void mux_refuse(struct mux *mux, uint32_t id, uint32_t code)
{
	struct frame frame = { .type = FRAME_CLOSE, .stream = id, .len = 4 };

	queue_frame(mux, &frame, code);
}

static void queue_windows(struct mux *mux)
{
	for (int i = 0; i < WINDOWS_AT_ONCE && !list_empty(&mux->due); i++) {
		struct mux_stream *stream =
			LIST_ENTRY(mux->due.next, struct mux_stream, due);
		struct frame frame = { .type = FRAME_WINDOW,
				       .stream = stream->id,
				       .len = 4 };

		list_remove(&stream->due);
		if (stream->peer_eof || stream->closed)
			continue;
		queue_frame(mux, &frame, stream->ungranted);
		stream->ungranted = 0;
	}
}

static void frame_sent(struct mux_stream *stream)
{
	if (stream->orphan) {
		mux_free_stream(stream);
		return;
	}
	mux_update_ready(stream);
	if (stream->out.len == 0) {
		ring_trim(&stream->out);
		mux_count_memory(stream);
		if (stream->our_eof && !stream->closed)
			mux_queue_eof(stream);
	}
	mux_mark(stream);
}

static void queue_used_slots(struct mux *mux)
{
	struct frame frame = { .type = FRAME_FREE, .len = 8 };

	if (mux->slots_used)
		queue_frame(mux, &frame, mux->slots_used);
	mux->slots_used = 0;
}

/* How much of the stream may go now. */
static size_t sendable(const struct mux_stream *stream)
{
	return stream->out.len < stream->may_send ? stream->out.len
						  : stream->may_send;
}

static void fill_slot(struct mux *mux, struct mux_stream *stream)
{
	struct frame frame = { .type = FRAME_SLOT,
			       .stream = stream->id,
			       .len = 8 };
	unsigned slot = (unsigned)__builtin_ctzll(mux->slots_free);
	size_t len = ring_read(
		&stream->out, mux->slots_out + (size_t)slot * SLOT_BYTES,
		sendable(stream) < SLOT_BYTES ? sendable(stream) : SLOT_BYTES);

	mux->slots_free &= ~(1ULL << slot);
	stream->may_send -= (uint32_t)len;
	queue_frame(mux, &frame, (uint64_t)len << 32 | slot);
	list_remove(&stream->ready);
	frame_sent(stream);
}

static void fill_slots(struct mux *mux)
{
	while (mux->slots_free && !list_empty(&mux->ready)) {
		struct mux_stream *first =
			LIST_ENTRY(mux->ready.next, struct mux_stream, ready);

		if (sendable(first) < SLOT_WORTH)
			return;
		fill_slot(mux, first);
	}
}

static void begin_frame(struct mux *mux, struct mux_stream *stream)
{
	struct frame frame = { .type = FRAME_DATA, .stream = stream->id };
	size_t len = sendable(stream);

	if (len > PAYLOAD_BYTES)
		len = PAYLOAD_BYTES;
	frame.len = (uint32_t)len;
	frame_encode(&frame, mux->header);
	stream->may_send -= frame.len;
	list_remove(&stream->ready);
	mux->sending = stream;
	mux->header_left = FRAME_HEADER_BYTES;
	mux->payload_left = len;
}

static int frame_pieces(struct mux *mux, struct iovec iov[3])
{
	size_t left = mux->payload_left;
	struct iovec ring[2];
	int pieces = ring_readable(&mux->sending->out, ring);
	int count = 0;

	if (mux->header_left > 0)
		iov[count++] = (struct iovec){
			mux->header + FRAME_HEADER_BYTES - mux->header_left,
			mux->header_left,
		};
	for (int i = 0; i < pieces && left > 0; i++) {
		if (ring[i].iov_len > left)
			ring[i].iov_len = left;
		left -= ring[i].iov_len;
		iov[count++] = ring[i];
	}
	return count;
}

int mux_output(struct mux *mux, struct iovec iov[3])
{
	if (mux->marker_left > 0) {
		iov[0] = (struct iovec){
			mux->marker_out + CALL_ANSWER_BYTES - mux->marker_left,
			mux->marker_left,
		};
		return 1;
	}
	if (mux->sending)
		return frame_pieces(mux, iov);
	if (mux->messages.len == 0) {
		queue_used_slots(mux);
		queue_windows(mux);
	}
	if (mux->messages.len == 0)
		fill_slots(mux);
	if (mux->messages.len > 0) {
		iov[0] =
			(struct iovec){ mux->messages.data, mux->messages.len };
		return 1;
	}
	if (list_empty(&mux->ready))
		return 0;
	begin_frame(mux, LIST_ENTRY(mux->ready.next, struct mux_stream, ready));
	return frame_pieces(mux, iov);
}

/* Keeps message_left, the rest of the frame that is cut by what was sent. */
static void messages_sent(struct mux *mux, size_t len)
{
	size_t done = 0;

	assert(len <= mux->messages.len);
	while (done < len) {
		size_t part = len - done;

		if (mux->message_left == 0) {
			struct cursor c =
				cursor_over(mux->messages.data + done + 8, 4);

			mux->message_left = FRAME_HEADER_BYTES + cursor_u32(&c);
		}
		if (part > mux->message_left)
			part = mux->message_left;
		mux->message_left -= part;
		done += part;
	}
	buffer_consume(&mux->messages, len);
	if (mux->messages.len == 0)
		buffer_release(&mux->messages);
}

void mux_sent(struct mux *mux, size_t len)
{
	struct mux_stream *stream = mux->sending;
	size_t part;

	if (mux->marker_left > 0) {
		assert(len <= mux->marker_left);
		mux->marker_left -= len;
		return;
	}
	if (!stream) {
		messages_sent(mux, len);
		mux_tell_users(mux);
		return;
	}
	part = len < mux->header_left ? len : mux->header_left;
	mux->header_left -= part;
	assert(len - part <= mux->payload_left);
	ring_consume(&stream->out, len - part);
	mux->payload_left -= len - part;
	if (mux->header_left == 0 && mux->payload_left == 0) {
		mux->sending = NULL;
		frame_sent(stream);
	}
	mux_tell_users(mux);
}

size_t mux_output_copy(struct mux *mux, void *bytes, size_t size)
{
	uint8_t *to = bytes;
	size_t done = 0;

	while (done < size) {
		struct iovec iov[3];
		int count = mux_output(mux, iov);
		size_t begin = done;

		for (int i = 0; i < count && done < size; i++) {
			size_t part = size - done;

			if (part > iov[i].iov_len)
				part = iov[i].iov_len;
			memcpy(to + done, iov[i].iov_base, part);
			done += part;
		}
		if (count == 0)
			break;
		mux_sent(mux, done - begin);
	}
	return done;
}

bool mux_between_frames(const struct mux *mux)
{
	return !mux->sending && mux->messages.len == 0 && mux->marker_left == 0;
}

size_t mux_backlog(const struct mux *mux)
{
	return mux->messages.len;
}

int mux_send_message(struct mux *mux, const void *payload, size_t len)
{
	struct frame frame = { .type = FRAME_MESSAGE };
	uint8_t header[FRAME_HEADER_BYTES];

	if (mux->stuck || len < 2 || len > mux->limits.message_max ||
	    mux->messages.len + sizeof(header) + len > MUX_MESSAGES_MAX)
		return -1;
	frame.len = (uint32_t)len;
	frame_encode(&frame, header);
	/* The buffer's maximum is higher: neither of these can fail. */
	buffer_append(&mux->messages, header, sizeof(header));
	buffer_append(&mux->messages, payload, len);
	return 0;
}
