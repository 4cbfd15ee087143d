/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_frame.h - what flows on a control connection after `exec` or
 * `attach` was accepted (PROTOCOL.md §6)
 *
 * Header: u8 type, 3 zero bytes, u32 length, little-endian; then the payload.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SESSION_FRAME_HEADER_BYTES 8
#define SESSION_FRAME_MAX (32u * 1024)

enum session_frame_type {
	SESSION_FRAME_STDIN = 1, /* client: bytes; length 0 = end of file */
	SESSION_FRAME_STDOUT,    /* supervisor: bytes */
	SESSION_FRAME_STDERR,    /* supervisor: bytes */
	SESSION_FRAME_RESIZE,    /* client: u16 rows, u16 cols */
	SESSION_FRAME_SIGNAL,    /* client: u32 signal number */
	SESSION_FRAME_EXIT,      /* supervisor: u32 wait status; last frame */
	SESSION_FRAME_DETACH,    /* client: let go; the session lives on */
	SESSION_FRAME_LOST,      /* supervisor: text: the machine is gone */
	SESSION_FRAME_WINDOW,    /* supervisor: u32 more stdin bytes allowed */

	SESSION_FRAME_TYPES,
};

/* what a client may send at first */
#define SESSION_STDIN_WINDOW (128u * 1024)

struct session_frame {
	enum session_frame_type type;
	uint32_t len;
};

void session_frame_encode(const struct session_frame *frame,
			  uint8_t out[SESSION_FRAME_HEADER_BYTES]);
/* Strict; -1 for unknown types, reserved bytes, too long. */
int session_frame_decode(const uint8_t in[SESSION_FRAME_HEADER_BYTES],
			 struct session_frame *frame);
