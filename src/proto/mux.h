/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux.h - many streams over one channel (PROTOCOL.md §2 and §3)
 *
 * The same code on both ends. It does no I/O: bytes from the channel go in
 * through mux_input(), bytes for the channel are taken from mux_output().
 *
 * Each stream has a window in each direction. A sender never has more than
 * the granted window under way, so one stalled reader holds up its own stream
 * and no other, and the memory of an end is bounded by
 * streams * 2 * MUX_WINDOW + messages. Messages go before data; streams with
 * something to send take turns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/ring.h"
#include "proto/frame.h"

#define MUX_WINDOW (256u * 1024)
#define MUX_STREAMS_MAX 256
#define MUX_MESSAGES_MAX (1024u * 1024) /* queued outgoing message bytes */
#define MUX_MARKER_BYTES 32

struct mux;
struct mux_stream;

/* Callbacks never run inside mux_stream_*() or mux_send_message(). */
struct mux_ops {
	/* A message arrived. payload is valid during the call only. */
	void (*on_message)(void *ctx, const uint8_t *payload, size_t len);
	/*
	 * Something changed for a stream: bytes to read (stream->in), room to
	 * write (stream->out), peer's EOF, or a close. Look at the fields.
	 */
	void (*on_stream)(void *ctx, struct mux_stream *stream);
	/* The marker of mux_expect_marker() was seen; frames follow. */
	void (*on_marker)(void *ctx);
};

struct mux_stream {
	uint32_t id;
	void *owner;     /* for the user of the stream */
	struct ring in;  /* received, not yet taken: use mux_stream_take() */
	struct ring out; /* accepted, not yet sent */
	bool peer_eof;   /* nothing more will come after `in` is empty */
	bool our_eof;    /* mux_stream_eof() was called */
	bool closed;     /* CLOSE came; close_code says why; call _close() */
	uint32_t close_code;

	/* private */
	struct mux *mux;
	struct list link;
	uint32_t may_send;  /* window left that the peer granted */
	uint32_t ungranted; /* bytes taken that we have not granted again */
	bool eof_sent, notify;
};

struct mux {
	const struct mux_ops *ops;
	void *ctx;
	struct list streams;
	unsigned stream_count;
	struct buffer messages; /* framed messages and small frames to send */
	struct buffer input;    /* a frame that is not complete yet */
	uint8_t marker[MUX_MARKER_BYTES];
	size_t marker_seen;
	bool awaiting_marker;
	struct list *next_turn;
	/* the frame that mux_output() handed out */
	uint8_t header[FRAME_HEADER_BYTES];
	size_t header_left, payload_left;
	struct mux_stream *sending;
};

void mux_init(struct mux *mux, const struct mux_ops *ops, void *ctx);
void mux_release(struct mux *mux);

/*
 * Drops every incoming byte until this marker has passed, then calls
 * on_marker. Also forgets streams' and messages' unsent bytes and a
 * half-parsed frame: what was under way belongs to an older epoch.
 */
void mux_expect_marker(struct mux *mux, const uint8_t marker[MUX_MARKER_BYTES]);
/* Queues the raw marker in front of everything else. */
void mux_send_marker(struct mux *mux, const uint8_t marker[MUX_MARKER_BYTES]);

/*
 * Consumes all of bytes. -1 with err when the peer broke the protocol; the
 * channel must then be given up.
 */
struct error;
int mux_input(struct mux *mux, const void *bytes, size_t len,
	      struct error *err);
/*
 * What should be written to the channel next, as up to 3 pieces; 0 = nothing.
 * After a (possibly short) write, tell mux_sent() how many bytes went.
 */
int mux_output(struct mux *mux, struct iovec iov[3]);
void mux_sent(struct mux *mux, size_t len);

/* -1 when more than MUX_MESSAGES_MAX bytes are waiting: the peer is stuck. */
int mux_send_message(struct mux *mux, const void *payload, size_t len);

/* NULL when MUX_STREAMS_MAX are open or the id is in use or 0. */
struct mux_stream *mux_stream_open(struct mux *mux, uint32_t id, void *owner);
struct mux_stream *mux_stream_find(struct mux *mux, uint32_t id);
/* Takes what fits into `out`; returns how many bytes. */
size_t mux_stream_write(struct mux_stream *stream, const void *bytes,
			size_t len);
/* How much mux_stream_write() would take now. */
size_t mux_stream_space(const struct mux_stream *stream);
/* len bytes of `in` were used: consumes them and grants window again. */
void mux_stream_take(struct mux_stream *stream, size_t len);
/* No more writes; EOF follows the last byte of `out`. */
void mux_stream_eof(struct mux_stream *stream);
/*
 * Forgets the stream and frees it. Tells the peer with CLOSE(code) unless
 * both directions had ended or the peer closed it. Frames that still arrive
 * for it are dropped.
 */
void mux_stream_close(struct mux_stream *stream, uint32_t code);
