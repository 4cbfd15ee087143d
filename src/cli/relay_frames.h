/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_frames.h - the connection's side of a session: frames in and out
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "ipc/session_frame.h"

struct control_client;
struct error;

struct relay_frames {
	struct control_client *control; /* its fd, and bytes that came early */
	struct buffer in;
	size_t in_used; /* of `in`, by frames that were taken */
	struct buffer out;
	uint32_t window; /* stdin bytes that we may still send */
};

struct relay_frame {
	enum session_frame_type type;
	const uint8_t *bytes; /* until the next call */
	size_t len;
	int exit_code; /* of SESSION_FRAME_EXIT */
};

void relay_frames_init(struct relay_frames *frames,
		       struct control_client *control);
void relay_frames_release(struct relay_frames *frames);

/* Reads once. -1 when the connection is gone. */
int relay_frames_receive(struct relay_frames *frames, struct error *err);
/*
 * 1 and a frame, 0 when more bytes are needed, -1 when the machine is lost or
 * the supervisor speaks nonsense. WINDOW is taken care of here.
 */
int relay_frames_next(struct relay_frames *frames, struct relay_frame *frame,
		      struct error *err);

/* How many bytes of stdin may be sent now. */
size_t relay_frames_stdin_room(const struct relay_frames *frames);
void relay_frames_send(struct relay_frames *frames,
		       enum session_frame_type type, const void *bytes,
		       size_t len);
void relay_frames_send_u32(struct relay_frames *frames,
			   enum session_frame_type type, uint32_t value);
void relay_frames_send_size(struct relay_frames *frames, uint16_t rows,
			    uint16_t cols);
bool relay_frames_waiting(const struct relay_frames *frames);
/* Sends what the socket takes now. */
void relay_frames_flush(struct relay_frames *frames);
/* Sends everything, waiting at most a second. */
void relay_frames_flush_all(struct relay_frames *frames);
