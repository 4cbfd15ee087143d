/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mux.h - many streams over one channel (PROTOCOL.md §2 and §3)
 *
 * The same code on both ends and for more than one port. It does no I/O: bytes
 * from the channel go in through mux_input(), bytes for the channel are taken
 * from mux_output(). No call and no frame costs more with more streams.
 *
 * Each stream has a window in each direction. A sender never has more than
 * the granted window under way, so one stalled reader holds up its own stream
 * and no other, and the memory of an end is bounded by
 * streams * 2 windows + messages. Messages go before data; streams with
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
#include "proto/call.h"
#include "proto/frame.h"
#include "proto/slots.h"

#define MUX_WINDOW (256u * 1024)        /* of the control port */
#define MUX_MESSAGES_MAX (1024u * 1024) /* queued outgoing message bytes */
#define MUX_MARKER_BYTES 32

struct mux;
struct mux_stream;

struct mux_limits {
	unsigned streams_max;
	uint32_t message_max; /* bytes of one message, both ways */
	uint32_t window;      /* bytes, of each stream and direction */
	uint32_t grant_bytes; /* taken before they are granted again */
	/* Where the peer chooses ids: so that it cannot choose them badly. */
	uint32_t hash_seed;
	/* While the marker is awaited: the peer's end may be killed (call.h) */
	bool answers_calls;
};

/* Of the control port and of the network port (give it a seed). */
extern const struct mux_limits mux_control_limits;
extern const struct mux_limits mux_net_limits;

/*
 * Callbacks run inside mux_input(), mux_sent() and mux_output_copy() only, and
 * may call everything of this file but these three: close and open any stream,
 * send messages, expect and send a marker, release the mux (the struct itself
 * must outlive the call).
 */
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
	/*
	 * May be NULL. DATA came while `in` is empty: returns how many of the
	 * bytes it could pass on at once; they count as taken. The rest goes
	 * into `in`, and on_stream follows. Who collects bytes to pass them on
	 * together takes all, and gives back what is left over.
	 */
	size_t (*on_data)(void *ctx, struct mux_stream *stream,
			  const uint8_t *bytes, size_t len);
};

struct mux_stream {
	uint32_t id;
	void *owner;     /* for the user of the stream */
	struct ring in;  /* received, not yet taken: use mux_stream_take() */
	struct ring out; /* accepted, not yet sent */
	bool peer_eof;   /* nothing more will come after `in` is empty */
	bool our_eof;    /* mux_stream_eof() was called */
	bool closed;     /* CLOSE came, or a marker is expected (ECONNRESET);
			    close_code says why; call mux_stream_close() */
	uint32_t close_code;

	/* private */
	struct mux *mux;
	struct mux_stream *hash_next;
	struct list link;
	struct list marked; /* on_stream is due */
	struct list ready;  /* DATA is there and may be sent */
	struct list due;    /* WINDOW is to be sent */
	uint32_t may_send;  /* window left that the peer granted */
	uint32_t ungranted; /* bytes taken that we have not granted again */
	uint32_t memory;    /* of the rings, as counted in the mux */
	bool eof_sent;      /* EOF is queued or sent */
	bool orphan;        /* closed by us while its frame is half sent */
};

struct mux { /* private */
	const struct mux_ops *ops;
	void *ctx;
	struct mux_limits limits;
	struct list streams;         /* all of them */
	struct list marked;          /* those whose users are to be told */
	struct list ready;           /* in the order of their turns */
	struct list due;             /* those that get a WINDOW */
	struct mux_stream **buckets; /* owned: by id */
	unsigned bucket_bits;
	unsigned stream_count;
	size_t memory; /* of all rings */
	bool broken;   /* the peer broke the protocol, or released */
	bool stuck;    /* a small frame did not fit into messages */

	/* sending */
	struct buffer messages; /* framed messages and small frames to send */
	size_t message_left;    /* of the frame at its front, when begun */
	uint8_t *slots_out;     /* borrowed; NULL: DATA only */
	uint64_t slots_free;    /* of those */
	uint8_t marker_out[CALL_ANSWER_BYTES]; /* or its end: the marker */
	size_t marker_left;
	struct mux_stream *sending; /* whose DATA mux_output() handed out */
	uint8_t header[FRAME_HEADER_BYTES];
	size_t header_left, payload_left;

	/* receiving */
	struct buffer input;          /* a frame that is not complete yet */
	struct frame incoming;        /* its header, once input has it */
	struct mux_stream *receiving; /* NULL: the DATA is dropped */
	uint32_t data_left;           /* of the DATA frame under way */
	const uint8_t *slots_in;      /* borrowed; NULL: there are none */
	uint64_t slots_used;          /* to be given back */
	bool awaiting_marker;
	bool watching; /* for a marker in the place of a frame */
	uint8_t marker[MUX_MARKER_BYTES];
	uint8_t fallback[MUX_MARKER_BYTES]; /* shorter match after a miss */
	size_t marker_seen;
	struct call_ear ear; /* for calls, while one is awaited */
};

void mux_init(struct mux *mux, const struct mux_limits *limits,
	      const struct mux_ops *ops, void *ctx);
/*
 * Memory of slots.h, borrowed: the peer reads large DATA there, or puts it
 * there; NULL: none. Without one of these calls slots are not used, and
 * refused. What is handed to on_data lies there until output is asked for.
 */
void mux_write_slots(struct mux *mux, uint8_t memory[SLOTS_BYTES]);
void mux_read_slots(struct mux *mux, const uint8_t memory[SLOTS_BYTES]);
/* Frees the streams, too; what still comes is refused. */
void mux_release(struct mux *mux);

/*
 * Drops every incoming byte until this marker has passed, then calls
 * on_marker. Also forgets streams' and messages' unsent bytes and a
 * half-parsed frame, and marks every stream closed: what was under way belongs
 * to an older epoch. So a last message must be written out before. Calls are
 * answered meanwhile, where the limits say so.
 */
void mux_expect_marker(struct mux *mux, const uint8_t marker[MUX_MARKER_BYTES]);
/*
 * A snapshot is taken now: the machine that goes on gets frames as before, a
 * restored one gets this marker in the place of a frame. When its first byte
 * comes, all is as after mux_expect_marker(). No frame begins with a byte of
 * MUX_MARKER_BIT, so every marker does.
 */
void mux_watch_marker(struct mux *mux, const uint8_t marker[MUX_MARKER_BYTES]);
#define MUX_MARKER_BIT 0x80
/*
 * Queues the raw marker in front of everything else; the rest of a frame that
 * is half sent is forgotten. May be called before or after
 * mux_expect_marker().
 */
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
 * After a (possibly short) write, tell mux_sent() how many bytes went. The
 * pieces are valid until the next call of any other mux function; asking
 * again without sending gives the same, so it also answers "is there
 * something to write?". Ask after every call that may have made output:
 * input, take, write, eof, close, send.
 */
int mux_output(struct mux *mux, struct iovec iov[3]);
void mux_sent(struct mux *mux, size_t len);
/*
 * The same for who prefers one write to three pieces (a virtio port makes one
 * request of each piece): copies as many bytes as are there and fit, and
 * counts them as sent.
 */
size_t mux_output_copy(struct mux *mux, void *bytes, size_t size);
/*
 * Bytes of messages and small frames that wait to be sent. Who answers a peer
 * that does not read stops calling mux_input() when it is high: at most one of
 * the two ends may do that.
 */
/* No message waits, and no frame was sent in part. */
bool mux_between_frames(const struct mux *mux);
size_t mux_backlog(const struct mux *mux);
/* Whose DATA frame has begun to arrive, and its rest is on the way; or NULL. */
const struct mux_stream *mux_receiving(const struct mux *mux);

/*
 * -1 when more than MUX_MESSAGES_MAX bytes are waiting: the peer is stuck.
 * A message overtakes DATA that is not sent, and the EOF behind it. A message
 * that must come after a stream's EOF is sent when our_eof is set and `out` is
 * empty (on_stream comes then): EOF is queued by that time.
 */
int mux_send_message(struct mux *mux, const void *payload, size_t len);

/* NULL when as many are open as may be, or the id is in use or 0. */
struct mux_stream *mux_stream_open(struct mux *mux, uint32_t id, void *owner);
struct mux_stream *mux_stream_find(struct mux *mux, uint32_t id);
/* Takes what fits into `out`; returns how many bytes. */
size_t mux_stream_write(struct mux_stream *stream, const void *bytes,
			size_t len);
/* How much mux_stream_write() would take now. */
size_t mux_stream_space(const struct mux_stream *stream);
/*
 * The same without a copy: where up to `want` bytes can be read to, as up to
 * 2 pieces (0 = no room); then tell mux_stream_filled() how many came.
 */
int mux_stream_room(struct mux_stream *stream, size_t want,
		    struct iovec iov[2]);
void mux_stream_filled(struct mux_stream *stream, size_t len);
/* len bytes of `in` were used: consumes them and grants window again. */
void mux_stream_take(struct mux_stream *stream, size_t len);
/*
 * The opposite, for the last len bytes that on_data has taken: they are put
 * into `in` after all, and must lie elsewhere. `in` is empty.
 */
void mux_stream_give_back(struct mux_stream *stream, const void *bytes,
			  size_t len);
/* No more writes; EOF follows the last byte of `out`. */
void mux_stream_eof(struct mux_stream *stream);
/*
 * Forgets the stream and frees it. Tells the peer with CLOSE(code) unless
 * both directions had ended or the peer closed it. Frames that still arrive
 * for it are dropped.
 */
void mux_stream_close(struct mux_stream *stream, uint32_t code);
/* CLOSE(code) for a stream that the peer began and that we did not open. */
void mux_refuse(struct mux *mux, uint32_t id, uint32_t code);
/* Memory of all rings; and who has most of it, NULL: nobody has any. */
size_t mux_memory(const struct mux *mux);
struct mux_stream *mux_heaviest(const struct mux *mux);
