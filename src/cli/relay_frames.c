/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_frames.c - the connection's side of a session: frames in and out
 */
#include "cli/relay_frames.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/child.h"
#include "base/error.h"
#include "base/text.h"
#include "ipc/control.h"

#define IN_BYTES (1024u * 1024)
#define OUT_BYTES (SESSION_STDIN_WINDOW * 2)
#define READ_BYTES (64u * 1024)
#define LAST_WORDS_MS 1000

void relay_frames_init(struct relay_frames *frames,
		       struct control_client *control)
{
	*frames = (struct relay_frames){ .control = control,
					 .window = SESSION_STDIN_WINDOW };
	buffer_init(&frames->in, IN_BYTES);
	buffer_init(&frames->out, OUT_BYTES);
	/* frames that came in one read with the answer */
	if (control->len)
		buffer_append(&frames->in, control->line, control->len);
	control->len = 0;
}

void relay_frames_release(struct relay_frames *frames)
{
	buffer_release(&frames->in);
	buffer_release(&frames->out);
}

int relay_frames_receive(struct relay_frames *frames, struct error *err)
{
	static uint8_t bytes[READ_BYTES];
	ssize_t n =
		recv(frames->control->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return error_set(err, 0,
				 "the sandbox's supervisor has ended (see "
				 "`bawn logs`)");
	buffer_consume(&frames->in, frames->in_used);
	frames->in_used = 0;
	if (buffer_append(&frames->in, bytes, (size_t)n) < 0)
		return error_set(err, 0, "a session frame is too long");
	return 0;
}

/* The whole payload as one number, little-endian. */
static int payload_u32(const struct relay_frame *frame, uint32_t *value)
{
	if (frame->len != 4)
		return -1;
	*value = 0;
	for (int i = 3; i >= 0; i--)
		*value = *value << 8 | frame->bytes[i];
	return 0;
}

static int take_window(struct relay_frames *frames,
		       const struct relay_frame *frame)
{
	uint32_t more;

	if (payload_u32(frame, &more) < 0 || more > SESSION_STDIN_WINDOW ||
	    frames->window > SESSION_STDIN_WINDOW - more)
		return -1;
	frames->window += more;
	return 0;
}

/* 0: a frame for the caller; 1: taken care of; -1: nonsense or lost. */
static int interpret(struct relay_frames *frames, struct relay_frame *frame,
		     struct error *err)
{
	char why[256];
	uint32_t status;

	switch (frame->type) {
	case SESSION_FRAME_STDOUT:
	case SESSION_FRAME_STDERR:
		return 0;
	case SESSION_FRAME_EXIT:
		if (payload_u32(frame, &status) < 0)
			break;
		frame->exit_code = child_exit_code((int)status);
		return 0;
	case SESSION_FRAME_LOST:
		text_printable((const char *)frame->bytes, frame->len, why,
			       sizeof(why));
		return error_set(err, 0, "the sandbox has ended: %s", why);
	case SESSION_FRAME_WINDOW:
		if (take_window(frames, frame) == 0)
			return 1;
		break;
	default:
		break;
	}
	return error_set(err, EPROTO, "session frame of type %u",
			 (unsigned)frame->type);
}

int relay_frames_next(struct relay_frames *frames, struct relay_frame *frame,
		      struct error *err)
{
	for (;;) {
		size_t left = frames->in.len - frames->in_used;
		const uint8_t *at = frames->in.data + frames->in_used;
		struct session_frame head;
		int result;

		if (left < SESSION_FRAME_HEADER_BYTES)
			return 0;
		if (session_frame_decode(at, &head) < 0)
			return error_set(err, EPROTO, "session frame");
		if (left - SESSION_FRAME_HEADER_BYTES < head.len)
			return 0;
		frames->in_used += SESSION_FRAME_HEADER_BYTES + head.len;
		*frame = (struct relay_frame){
			.type = head.type,
			.bytes = at + SESSION_FRAME_HEADER_BYTES,
			.len = head.len,
		};
		result = interpret(frames, frame, err);
		if (result <= 0)
			return result < 0 ? -1 : 1;
	}
}

size_t relay_frames_stdin_room(const struct relay_frames *frames)
{
	size_t room = frames->window;

	/* small frames must always find a place beside waiting input */
	if (frames->out.len > SESSION_STDIN_WINDOW)
		return 0;
	return room < SESSION_FRAME_MAX ? room : SESSION_FRAME_MAX;
}

void relay_frames_send(struct relay_frames *frames,
		       enum session_frame_type type, const void *bytes,
		       size_t len)
{
	struct session_frame head = { .type = type, .len = (uint32_t)len };
	uint8_t encoded[SESSION_FRAME_HEADER_BYTES];

	if (frames->out.len + sizeof(encoded) + len > frames->out.max)
		return;
	session_frame_encode(&head, encoded);
	buffer_append(&frames->out, encoded, sizeof(encoded));
	if (len)
		buffer_append(&frames->out, bytes, len);
	if (type == SESSION_FRAME_STDIN)
		frames->window -= (uint32_t)len;
	relay_frames_flush(frames);
}

void relay_frames_send_u32(struct relay_frames *frames,
			   enum session_frame_type type, uint32_t value)
{
	const uint8_t bytes[4] = { (uint8_t)value, (uint8_t)(value >> 8),
				   (uint8_t)(value >> 16),
				   (uint8_t)(value >> 24) };

	relay_frames_send(frames, type, bytes, sizeof(bytes));
}

void relay_frames_send_size(struct relay_frames *frames, uint16_t rows,
			    uint16_t cols)
{
	relay_frames_send_u32(frames, SESSION_FRAME_RESIZE,
			      (uint32_t)cols << 16 | rows);
}

bool relay_frames_waiting(const struct relay_frames *frames)
{
	return frames->out.len > 0;
}

void relay_frames_flush(struct relay_frames *frames)
{
	ssize_t n;

	if (!frames->out.len)
		return;
	n = send(frames->control->fd, frames->out.data, frames->out.len,
		 MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		buffer_consume(&frames->out, (size_t)n);
	else if (n < 0 && errno != EAGAIN && errno != EINTR)
		/* receiving tells why it is gone */
		buffer_consume(&frames->out, frames->out.len);
}

void relay_frames_flush_all(struct relay_frames *frames)
{
	struct pollfd connection = { .fd = frames->control->fd,
				     .events = POLLOUT };

	for (int i = 0; i < 8 && frames->out.len; i++) {
		if (poll(&connection, 1, LAST_WORDS_MS) <= 0)
			return;
		relay_frames_flush(frames);
	}
}
