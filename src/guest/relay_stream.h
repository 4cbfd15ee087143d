/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_stream.h - the bytes of the files port, both ways (PROTOCOL.md §8)
 *
 * In: records are split out of what the host sent, and its last 32 bytes are
 * compared with the markers that a new server may begin with. Out: records
 * wait in a buffer that outlives the relay, so that a successor can finish the
 * one that was under way: a half record that is filled up with something else
 * would end up in somebody's file. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proto/record.h"

#define STREAM_RECORD_MAX (RECORD_HEADER_BYTES + RECORD_PAYLOAD_MAX)
#define STREAM_OUT_BYTES (4 * STREAM_RECORD_MAX)
#define STREAM_IN_BYTES (2 * STREAM_RECORD_MAX)
#define STREAM_PIECE_BYTES (32U << 10) /* of one request of the driver */

struct stream_in {
	uint8_t *bytes; /* owned */
	size_t size, len;
	size_t done; /* handed out already */
	size_t held; /* at the end: may be the beginning of a marker */
	bool deaf;   /* not records: drops everything up to a marker */
	size_t tail_len;
	uint8_t tail[RECORD_MARKER_BYTES]; /* the last that came */
};

/* size: at least two of the longest records that come. */
void stream_in_init(struct stream_in *in, size_t size);
void stream_in_release(struct stream_in *in);
/* Where to read to; at least half of its size, unless a record is longer. */
void *stream_in_room(struct stream_in *in, size_t *left);
/*
 * len bytes were read there. True: they end in one of the markers; what came
 * before it is handed out as usual, then dropped.
 */
bool stream_in_added(struct stream_in *in, size_t len,
		     const uint8_t (*markers)[RECORD_MARKER_BYTES],
		     unsigned marker_count);
/* False when more bytes are needed. payload lies in the buffer. */
bool stream_in_next(struct stream_in *in, struct record *record,
		    const uint8_t **payload);
/* What was not handed out goes to another one, as if that had read it. */
void stream_in_hand_on(struct stream_in *in, struct stream_in *to);
/* Drops a half record, too: the other side begins anew. */
void stream_in_reset(struct stream_in *in);

struct stream_out {
	size_t start, end;
	size_t boundary; /* first end of a record at or after start */
	bool unsure; /* whether the next piece has left, or where start is */
	uint8_t bytes[STREAM_OUT_BYTES];
};

/* NULL when there is no room for the largest record. */
uint8_t *stream_out_room(struct stream_out *out);
/* A payload of len bytes lies behind the header that room points to. */
void stream_out_commit(struct stream_out *out, unsigned type, unsigned share,
		       size_t len);
/* len bytes from start have left. */
void stream_out_sent(struct stream_out *out, size_t len);
/*
 * What to write next: whole records where they fit into what the driver takes
 * with one write, which is all or nothing. So who dies in that write leaves the
 * other side at the end of a record. Unsure until stream_out_sent().
 */
size_t stream_out_piece(struct stream_out *out);
/*
 * Nothing is sent any more but the rest of the record that has begun, then
 * what is no record wherever the other side may be, then these bytes.
 */
void stream_out_break(struct stream_out *out, const void *bytes, size_t len);
/* Bytes that are no record, into an empty buffer. */
void stream_out_raw(struct stream_out *out, const void *bytes, size_t len);
