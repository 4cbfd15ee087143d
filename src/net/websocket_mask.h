/* SPDX-License-Identifier: Apache-2.0 */
/*
 * websocket_mask.h - takes secrets out of what a server says by WebSocket
 *
 * A message is searched as a whole, in however many frames it comes. One that
 * is one frame stays one frame of the same length. One of several frames gets
 * other borders, since what may be the begin of a secret waits for the next
 * frame. Nothing waits longer than its message; what goes on in the next one is
 * found there, see mask_pause().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/mask.h"
#include "wire/websocket.h"

struct websocket_mask {
	struct mask mask; /* owned */
	struct websocket_frame frame;
	uint64_t left;   /* of the frame; while in_frame */
	bool in_frame;   /* its head was read */
	bool in_message; /* of several frames */
	uint8_t opcode;  /* for the next frame that leaves of it */
	uint8_t control_len;
	uint8_t control[WEBSOCKET_CONTROL_MAX]; /* of a control frame */
};

struct websocket_piece {
	size_t taken;        /* of the input; 0: more is needed */
	size_t len;          /* of the output */
	const char *problem; /* static */
};

/* Beside the input and what is held, the output needs room for this. */
#define WEBSOCKET_MASK_ROOM (WEBSOCKET_HEAD_MAX + WEBSOCKET_CONTROL_MAX)

/* Takes the mask, with its forms. */
void websocket_mask_init(struct websocket_mask *self, struct mask *mask);
void websocket_mask_release(struct websocket_mask *self);
/*
 * One step: a head, or a part of what follows. out has room for the input, for
 * mask.held_len and WEBSOCKET_MASK_ROOM. -1: it is no WebSocket.
 */
int websocket_mask_step(struct websocket_mask *self, const uint8_t *bytes,
			size_t len, uint8_t *out,
			struct websocket_piece *piece);
