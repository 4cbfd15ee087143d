/* SPDX-License-Identifier: Apache-2.0 */
/*
 * websocket.h - the heads of a server's WebSocket frames (RFC 6455, 5.2)
 *
 * No extension is known here: a reserved bit, and whatever else two readers
 * could understand differently, is an error.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WEBSOCKET_HEAD_MAX 10
#define WEBSOCKET_CONTROL_MAX 125 /* bytes in a control frame */

enum websocket_opcode {
	WEBSOCKET_MORE = 0, /* continues a message */
	WEBSOCKET_TEXT = 1,
	WEBSOCKET_BINARY = 2,
	WEBSOCKET_CLOSE = 8, /* this and what is above it: control */
	WEBSOCKET_PING = 9,
	WEBSOCKET_PONG = 10,
};

struct websocket_frame {
	bool last; /* of its message */
	uint8_t opcode;
	uint64_t length; /* of what follows the head */
};

static inline bool websocket_is_control(const struct websocket_frame *frame)
{
	return frame->opcode >= WEBSOCKET_CLOSE;
}

/*
 * Returns the length of the head; 0: it is not whole; -1: it is none, and
 * *problem (static) says why.
 */
int websocket_parse(const uint8_t *bytes, size_t len,
		    struct websocket_frame *out, const char **problem);
/* Returns the length; out has room for WEBSOCKET_HEAD_MAX. */
size_t websocket_encode(const struct websocket_frame *frame, uint8_t *out);
