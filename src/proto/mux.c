/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux.c - many streams over one channel: streams and what is sent
 *
 * Sending has three sources, in this order: the marker of a new epoch, the
 * queue of messages and small frames, and the streams' DATA. A DATA frame is
 * never copied: its header lies in the mux and its payload in the stream's
 * ring. Once its first byte went out the frame must be finished, so a stream
 * that is closed meanwhile lives on, unlisted, until then.
 *
 * EOF and CLOSE are queued at most once for each stream. WINDOW is queued only
 * when the queue is empty: a peer that does not read gets no window, and so
 * cannot make the queue grow by sending.
 *
 * The order of the list of streams is the order of their turns: who has sent
 * a frame goes to its end.
 */
#include "proto/mux.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proto/cursor.h"
#include "proto/mux_internal.h"

/* Room for small frames, over what messages may take. */
#define SMALL_FRAMES_MAX (256u * 1024)
/* A frame with its header is one write of 32 KiB for virtio-serial. */
#define PAYLOAD_BYTES (FRAME_DATA_MAX - FRAME_HEADER_BYTES)

#define STREAM_OF(node) LIST_ENTRY(node, struct mux_stream, link)

void mux_init(struct mux *mux, const struct mux_ops *ops, void *ctx)
{
	*mux = (struct mux){ .ops = ops, .ctx = ctx };
	list_init(&mux->streams);
	list_init(&mux->marked);
	buffer_init(&mux->messages, MUX_MESSAGES_MAX + SMALL_FRAMES_MAX);
	buffer_init(&mux->input, FRAME_HEADER_BYTES + FRAME_MESSAGE_MAX);
}

static void free_stream(struct mux_stream *stream)
{
	list_remove(&stream->link);
	list_remove(&stream->marked);
	ring_release(&stream->in);
	ring_release(&stream->out);
	free(stream);
}

/* Forgets the frame under way, whether or not it was begun. */
static void drop_frame(struct mux *mux)
{
	if (mux->sending && mux->sending->orphan)
		free_stream(mux->sending);
	mux->sending = NULL;
	mux->header_left = mux->payload_left = 0;
}

void mux_release(struct mux *mux)
{
	drop_frame(mux);
	LIST_FOR_EACH(node, &mux->streams)
		free_stream(STREAM_OF(node));
	buffer_release(&mux->messages);
	buffer_release(&mux->input);
	mux->stream_count = 0;
	/* Who called us from a callback comes back to an end of input. */
	mux->receiving = NULL;
	mux->data_left = 0;
	mux->message_left = mux->marker_left = 0;
	mux->broken = true;
}

void mux_mark(struct mux_stream *stream)
{
	if (list_empty(&stream->marked))
		list_append(&stream->mux->marked, &stream->marked);
}

void mux_tell_users(struct mux *mux)
{
	while (!list_empty(&mux->marked)) {
		struct list *node = mux->marked.next;

		list_remove(node);
		mux->ops->on_stream(
			mux->ctx, LIST_ENTRY(node, struct mux_stream, marked));
	}
}

static void find_fallbacks(struct mux *mux)
{
	size_t match = 0;

	mux->fallback[0] = 0;
	for (size_t i = 1; i < MUX_MARKER_BYTES; i++) {
		while (match > 0 && mux->marker[i] != mux->marker[match])
			match = mux->fallback[match - 1];
		if (mux->marker[i] == mux->marker[match])
			match++;
		mux->fallback[i] = (uint8_t)match;
	}
}

void mux_expect_marker(struct mux *mux, const uint8_t marker[MUX_MARKER_BYTES])
{
	memcpy(mux->marker, marker, MUX_MARKER_BYTES);
	find_fallbacks(mux);
	mux->marker_seen = 0;
	mux->awaiting_marker = true;

	mux->input.len = 0;
	mux->data_left = 0;
	mux->receiving = NULL;
	mux->messages.len = 0;
	mux->message_left = 0;
	drop_frame(mux);
	LIST_FOR_EACH(node, &mux->streams) {
		struct mux_stream *stream = STREAM_OF(node);

		ring_release(&stream->out);
		if (!stream->closed)
			stream->close_code = ECONNRESET;
		stream->closed = true;
		mux_mark(stream);
	}
}

void mux_send_marker(struct mux *mux, const uint8_t marker[MUX_MARKER_BYTES])
{
	/* The rest of what was begun would be taken for a new frame. */
	drop_frame(mux);
	buffer_consume(&mux->messages, mux->message_left);
	mux->message_left = 0;
	memcpy(mux->marker_out, marker, MUX_MARKER_BYTES);
	mux->marker_left = MUX_MARKER_BYTES;
}

static void queue_frame(struct mux *mux, const struct frame *frame,
			uint32_t value)
{
	uint8_t bytes[FRAME_HEADER_BYTES + 4];
	struct writer w = writer_over(bytes + FRAME_HEADER_BYTES, 4);

	frame_encode(frame, bytes);
	writer_u32(&w, value);
	if (buffer_append(&mux->messages, bytes,
			  FRAME_HEADER_BYTES + frame->len) < 0)
		mux->stuck = true;
}

static void queue_eof(struct mux_stream *stream)
{
	struct frame frame = { .type = FRAME_EOF, .stream = stream->id };

	queue_frame(stream->mux, &frame, 0);
	stream->eof_sent = true;
}

static void queue_windows(struct mux *mux)
{
	LIST_FOR_EACH(node, &mux->streams) {
		struct mux_stream *stream = STREAM_OF(node);
		struct frame frame = { .type = FRAME_WINDOW,
				       .stream = stream->id,
				       .len = 4 };

		if (stream->ungranted < GRANT_BYTES || stream->peer_eof ||
		    stream->closed)
			continue;
		queue_frame(mux, &frame, stream->ungranted);
		stream->ungranted = 0;
	}
}

static void begin_frame(struct mux *mux, struct mux_stream *stream)
{
	struct frame frame = { .type = FRAME_DATA, .stream = stream->id };
	size_t len = stream->out.len;

	if (len > stream->may_send)
		len = stream->may_send;
	if (len > PAYLOAD_BYTES)
		len = PAYLOAD_BYTES;
	frame.len = (uint32_t)len;
	frame_encode(&frame, mux->header);
	stream->may_send -= frame.len;
	mux->sending = stream;
	mux->header_left = FRAME_HEADER_BYTES;
	mux->payload_left = len;
}

/* Whose turn it is to send DATA becomes mux->sending. */
static void next_turn(struct mux *mux)
{
	LIST_FOR_EACH(node, &mux->streams) {
		struct mux_stream *stream = STREAM_OF(node);

		if (stream->closed || !stream->out.len || !stream->may_send)
			continue;
		begin_frame(mux, stream);
		return;
	}
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
			mux->marker_out + MUX_MARKER_BYTES - mux->marker_left,
			mux->marker_left,
		};
		return 1;
	}
	if (mux->sending)
		return frame_pieces(mux, iov);
	if (mux->messages.len == 0)
		queue_windows(mux);
	if (mux->messages.len > 0) {
		iov[0] =
			(struct iovec){ mux->messages.data, mux->messages.len };
		return 1;
	}
	next_turn(mux);
	return mux->sending ? frame_pieces(mux, iov) : 0;
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

static void frame_sent(struct mux *mux)
{
	struct mux_stream *stream = mux->sending;

	mux->sending = NULL;
	if (stream->orphan) {
		free_stream(stream);
		return;
	}
	list_remove(&stream->link);
	list_append(&mux->streams, &stream->link);
	if (stream->out.len == 0) {
		ring_trim(&stream->out);
		if (stream->our_eof && !stream->closed)
			queue_eof(stream);
	}
	mux_mark(stream);
}

void mux_sent(struct mux *mux, size_t len)
{
	size_t part;

	if (mux->marker_left > 0) {
		assert(len <= mux->marker_left);
		mux->marker_left -= len;
		return;
	}
	if (!mux->sending) {
		messages_sent(mux, len);
		return;
	}
	part = len < mux->header_left ? len : mux->header_left;
	mux->header_left -= part;
	assert(len - part <= mux->payload_left);
	ring_consume(&mux->sending->out, len - part);
	mux->payload_left -= len - part;
	if (mux->header_left == 0 && mux->payload_left == 0)
		frame_sent(mux);
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

int mux_send_message(struct mux *mux, const void *payload, size_t len)
{
	struct frame frame = { .type = FRAME_MESSAGE };
	uint8_t header[FRAME_HEADER_BYTES];

	if (mux->stuck || len < 2 || len > FRAME_MESSAGE_MAX ||
	    mux->messages.len + sizeof(header) + len > MUX_MESSAGES_MAX)
		return -1;
	frame.len = (uint32_t)len;
	frame_encode(&frame, header);
	/* The buffer's maximum is higher: neither of these can fail. */
	buffer_append(&mux->messages, header, sizeof(header));
	buffer_append(&mux->messages, payload, len);
	return 0;
}

struct mux_stream *mux_stream_open(struct mux *mux, uint32_t id, void *owner)
{
	struct mux_stream *stream;

	if (id == 0 || mux->stream_count >= MUX_STREAMS_MAX ||
	    mux_stream_find(mux, id))
		return NULL;
	stream = xcalloc(1, sizeof(*stream));
	*stream = (struct mux_stream){
		.id = id, .owner = owner, .mux = mux, .may_send = MUX_WINDOW
	};
	ring_init(&stream->in, MUX_WINDOW);
	ring_init(&stream->out, MUX_WINDOW);
	list_init(&stream->marked);
	list_append(&mux->streams, &stream->link);
	mux->stream_count++;
	return stream;
}

struct mux_stream *mux_stream_find(struct mux *mux, uint32_t id)
{
	LIST_FOR_EACH(node, &mux->streams) {
		if (STREAM_OF(node)->id == id)
			return STREAM_OF(node);
	}
	return NULL;
}

size_t mux_stream_write(struct mux_stream *stream, const void *bytes,
			size_t len)
{
	if (stream->our_eof || stream->closed || len == 0)
		return 0;
	return ring_write(&stream->out, bytes, len);
}

size_t mux_stream_space(const struct mux_stream *stream)
{
	if (stream->our_eof || stream->closed)
		return 0;
	return ring_space(&stream->out);
}

void mux_stream_take(struct mux_stream *stream, size_t len)
{
	ring_consume(&stream->in, len);
	ring_trim(&stream->in);
	stream->ungranted += (uint32_t)len;
}

void mux_stream_eof(struct mux_stream *stream)
{
	if (stream->our_eof)
		return;
	stream->our_eof = true;
	if (stream->out.len == 0 && !stream->closed)
		queue_eof(stream);
}

void mux_stream_close(struct mux_stream *stream, uint32_t code)
{
	struct mux *mux = stream->mux;
	struct frame frame = { .type = FRAME_CLOSE,
			       .stream = stream->id,
			       .len = 4 };

	list_remove(&stream->link);
	list_remove(&stream->marked);
	mux->stream_count--;
	if (mux->receiving == stream)
		mux->receiving = NULL;
	if (!stream->closed && !(stream->peer_eof && stream->eof_sent))
		queue_frame(mux, &frame, code);
	if (mux->sending == stream && mux->header_left == FRAME_HEADER_BYTES)
		drop_frame(mux);
	if (mux->sending != stream) {
		free_stream(stream);
		return;
	}
	stream->orphan = true;
	ring_release(&stream->in);
}
