/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux.c - many streams over one channel: the streams and their epochs
 *
 * A stream is in the table of ids, in the list of all, and in up to three
 * lists of those for which something is to be done: `marked` (its user is to
 * be told), `ready` (it may send DATA), `due` (it gets a WINDOW). So nothing
 * ever looks through all streams but the end of an epoch.
 */
#include "proto/mux.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "proto/mux_internal.h"
#include "proto/net_messages.h"

#define FIRST_BUCKET_BITS 6
#define BUCKET_BITS_MAX 20
/* 2^32 divided by the golden ratio: spreads ids that follow each other. */
#define HASH_FACTOR 2654435769u

#define STREAM_OF(node) LIST_ENTRY(node, struct mux_stream, link)

const struct mux_limits mux_control_limits = {
	.streams_max = 256,
	.message_max = FRAME_MESSAGE_MAX,
	.window = MUX_WINDOW,
	.grant_bytes = MUX_WINDOW / 4, /* few WINDOW frames, no pause */
};

const struct mux_limits mux_net_limits = {
	.streams_max = NET_STREAMS_MAX,
	.message_max = NET_MESSAGE_MAX,
	.window = NET_WINDOW,
	.grant_bytes = NET_WINDOW / 4, /* a write to the port is dear */
	.answers_calls = true,
};

void mux_init(struct mux *mux, const struct mux_limits *limits,
	      const struct mux_ops *ops, void *ctx)
{
	*mux = (struct mux){ .ops = ops, .ctx = ctx, .limits = *limits };
	list_init(&mux->streams);
	list_init(&mux->marked);
	list_init(&mux->ready);
	list_init(&mux->due);
	buffer_init(&mux->messages, MUX_MESSAGES_MAX + MUX_SMALL_FRAMES_MAX);
	buffer_init(&mux->input, FRAME_HEADER_BYTES + limits->message_max);
}

void mux_write_slots(struct mux *mux, uint8_t memory[SLOTS_BYTES])
{
	mux->slots_out = memory;
	mux->slots_free = memory ? SLOTS_ALL : 0;
}

void mux_read_slots(struct mux *mux, const uint8_t memory[SLOTS_BYTES])
{
	mux->slots_in = memory;
	mux->slots_used = 0;
}

/* A secret odd factor makes collisions a matter of luck. */
static struct mux_stream **bucket_of(const struct mux *mux, uint32_t id)
{
	uint32_t factor = (HASH_FACTOR ^ mux->limits.hash_seed) | 1;

	return &mux->buckets[id * factor >> (32 - mux->bucket_bits)];
}

static void add_to_table(struct mux *mux, struct mux_stream *stream)
{
	struct mux_stream **bucket = bucket_of(mux, stream->id);

	stream->hash_next = *bucket;
	*bucket = stream;
}

static void remove_from_table(struct mux *mux, const struct mux_stream *stream)
{
	struct mux_stream **at = bucket_of(mux, stream->id);

	while (*at != stream)
		at = &(*at)->hash_next;
	*at = stream->hash_next;
}

static void grow_table(struct mux *mux)
{
	unsigned bits = mux->buckets ? mux->bucket_bits + 1 : FIRST_BUCKET_BITS;

	if (mux->buckets && (mux->stream_count >> mux->bucket_bits == 0 ||
			     bits > BUCKET_BITS_MAX))
		return;
	free(mux->buckets);
	mux->bucket_bits = bits;
	mux->buckets = xcalloc((size_t)1 << bits, sizeof(*mux->buckets));
	LIST_FOR_EACH(node, &mux->streams)
		add_to_table(mux, STREAM_OF(node));
}

void mux_count_memory(struct mux_stream *stream)
{
	uint32_t memory = (uint32_t)(stream->in.size + stream->out.size);

	stream->mux->memory += memory;
	stream->mux->memory -= stream->memory;
	stream->memory = memory;
}

void mux_free_stream(struct mux_stream *stream)
{
	list_remove(&stream->link);
	list_remove(&stream->marked);
	list_remove(&stream->ready);
	list_remove(&stream->due);
	ring_release(&stream->in);
	ring_release(&stream->out);
	mux_count_memory(stream);
	free(stream);
}

void mux_release(struct mux *mux)
{
	mux_drop_frame(mux);
	LIST_FOR_EACH(node, &mux->streams)
		mux_free_stream(STREAM_OF(node));
	free(mux->buckets);
	mux->buckets = NULL;
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
	mux->ear = (struct call_ear){ 0 };

	mux->input.len = 0;
	mux->data_left = 0;
	mux->receiving = NULL;
	mux->messages.len = 0;
	mux->message_left = 0;
	mux_drop_frame(mux);
	LIST_FOR_EACH(node, &mux->streams) {
		struct mux_stream *stream = STREAM_OF(node);

		ring_release(&stream->out);
		mux_count_memory(stream);
		if (!stream->closed)
			stream->close_code = ECONNRESET;
		stream->closed = true;
		mux_update_ready(stream);
		mux_mark(stream);
	}
}

void mux_watch_marker(struct mux *mux, const uint8_t marker[MUX_MARKER_BYTES])
{
	memcpy(mux->marker, marker, MUX_MARKER_BYTES);
	mux->watching = true;
}

void mux_send_marker(struct mux *mux, const uint8_t marker[MUX_MARKER_BYTES])
{
	/* The rest of what was begun would be taken for a new frame. */
	mux_drop_frame(mux);
	buffer_consume(&mux->messages, mux->message_left);
	mux->message_left = 0;
	memcpy(mux->marker_out + CALL_WORD_BYTES, marker, MUX_MARKER_BYTES);
	mux->marker_left = MUX_MARKER_BYTES;
}

struct mux_stream *mux_stream_open(struct mux *mux, uint32_t id, void *owner)
{
	struct mux_stream *stream;

	if (id == 0 || mux->broken ||
	    mux->stream_count >= mux->limits.streams_max ||
	    mux_stream_find(mux, id))
		return NULL;
	stream = xcalloc(1, sizeof(*stream));
	*stream = (struct mux_stream){ .id = id,
				       .owner = owner,
				       .mux = mux,
				       .may_send = mux->limits.window };
	ring_init(&stream->in, mux->limits.window);
	ring_init(&stream->out, mux->limits.window);
	list_init(&stream->marked);
	list_init(&stream->ready);
	list_init(&stream->due);
	grow_table(mux);
	list_append(&mux->streams, &stream->link);
	add_to_table(mux, stream);
	mux->stream_count++;
	return stream;
}

struct mux_stream *mux_stream_find(struct mux *mux, uint32_t id)
{
	struct mux_stream *stream = mux->buckets ? *bucket_of(mux, id) : NULL;

	while (stream && stream->id != id)
		stream = stream->hash_next;
	return stream;
}

size_t mux_stream_write(struct mux_stream *stream, const void *bytes,
			size_t len)
{
	if (stream->our_eof || stream->closed || len == 0)
		return 0;
	len = ring_write(&stream->out, bytes, len);
	mux_count_memory(stream);
	mux_update_ready(stream);
	return len;
}

size_t mux_stream_space(const struct mux_stream *stream)
{
	if (stream->our_eof || stream->closed)
		return 0;
	return ring_space(&stream->out);
}

int mux_stream_room(struct mux_stream *stream, size_t want, struct iovec iov[2])
{
	int count;

	if (stream->our_eof || stream->closed)
		return 0;
	count = ring_room(&stream->out, want, iov);
	mux_count_memory(stream);
	return count;
}

void mux_stream_filled(struct mux_stream *stream, size_t len)
{
	ring_produced(&stream->out, len);
	/* Nothing came: the room is not kept for the next time. */
	ring_trim(&stream->out);
	mux_count_memory(stream);
	mux_update_ready(stream);
}

void mux_note_taken(struct mux_stream *stream, size_t len)
{
	struct mux *mux = stream->mux;

	stream->ungranted += (uint32_t)len;
	if (stream->ungranted >= mux->limits.grant_bytes &&
	    list_empty(&stream->due))
		list_append(&mux->due, &stream->due);
}

void mux_stream_take(struct mux_stream *stream, size_t len)
{
	ring_consume(&stream->in, len);
	ring_trim(&stream->in);
	mux_count_memory(stream);
	mux_note_taken(stream, len);
}

void mux_stream_give_back(struct mux_stream *stream, const void *bytes,
			  size_t len)
{
	assert(!stream->in.len && len <= stream->ungranted);
	ring_write(&stream->in, bytes, len);
	mux_count_memory(stream);
	stream->ungranted -= (uint32_t)len;
	if (stream->ungranted < stream->mux->limits.grant_bytes)
		list_remove(&stream->due);
}

void mux_stream_eof(struct mux_stream *stream)
{
	if (stream->our_eof)
		return;
	stream->our_eof = true;
	if (stream->out.len == 0 && !stream->closed)
		mux_queue_eof(stream);
}

void mux_stream_close(struct mux_stream *stream, uint32_t code)
{
	struct mux *mux = stream->mux;

	list_remove(&stream->link);
	list_remove(&stream->marked);
	list_remove(&stream->ready);
	list_remove(&stream->due);
	remove_from_table(mux, stream);
	mux->stream_count--;
	if (mux->receiving == stream)
		mux->receiving = NULL;
	if (!stream->closed && !(stream->peer_eof && stream->eof_sent))
		mux_queue_close(stream, code);
	stream->closed = true;
	if (mux->sending == stream && mux->header_left == FRAME_HEADER_BYTES)
		mux_drop_frame(mux);
	if (mux->sending != stream) {
		mux_free_stream(stream);
		return;
	}
	stream->orphan = true;
	ring_release(&stream->in);
	mux_count_memory(stream);
}

size_t mux_memory(const struct mux *mux)
{
	return mux->memory;
}

struct mux_stream *mux_heaviest(const struct mux *mux)
{
	struct mux_stream *heaviest = NULL;

	LIST_FOR_EACH(node, &mux->streams) {
		struct mux_stream *stream = STREAM_OF(node);

		if (stream->memory > (heaviest ? heaviest->memory : 0))
			heaviest = stream;
	}
	return heaviest;
}
