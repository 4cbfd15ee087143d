/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.h - the 12 bytes before every payload (PROTOCOL.md §2)
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define FRAME_HEADER_BYTES 12
#define FRAME_DATA_MAX (32u * 1024)     /* DATA payload: keeps streams fair */
#define FRAME_MESSAGE_MAX (256u * 1024) /* MESSAGE payload */

enum frame_type {
	FRAME_MESSAGE = 1, /* stream 0 only: a message of messages.h */
	FRAME_DATA = 2,    /* bytes of a stream */
	FRAME_WINDOW = 3,  /* u32: the peer may send so many bytes more */
	FRAME_EOF = 4,     /* no more DATA in this direction */
	FRAME_CLOSE = 5,   /* u32 errno: the stream is gone, both directions */
	FRAME_SLOT = 6,    /* u32 slot, u32 length: as DATA, which lies there */
	FRAME_FREE = 7,    /* stream 0: u64, a set of slots that were used */

	FRAME_TYPES,
};

struct frame {
	enum frame_type type;
	uint32_t stream;
	uint32_t len; /* payload bytes */
};

void frame_encode(const struct frame *frame, uint8_t out[FRAME_HEADER_BYTES]);
/*
 * Strict: unknown type, non-zero reserved bytes, a stream that does not fit
 * the type, or a length over the type's maximum is -1.
 */
int frame_decode(const uint8_t in[FRAME_HEADER_BYTES], struct frame *frame);
