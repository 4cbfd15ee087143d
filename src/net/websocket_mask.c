/* SPDX-License-Identifier: Apache-2.0 */
/*
 * websocket_mask.c - takes secrets out of what a server says by WebSocket
 */
#include "net/websocket_mask.h"

#include <string.h>

void websocket_mask_init(struct websocket_mask *self, struct mask *mask)
{
	*self = (struct websocket_mask){ .mask = *mask };
	mask_init(mask);
}

void websocket_mask_release(struct websocket_mask *self)
{
	mask_release(&self->mask);
}

static const char *check_order(const struct websocket_mask *self)
{
	const struct websocket_frame *frame = &self->frame;

	if (websocket_is_control(frame))
		return NULL;
	if ((frame->opcode == WEBSOCKET_MORE) != self->in_message)
		return "WebSocket frames that do not follow each other";
	return NULL;
}

/* A message that is this one frame: its head may leave. */
static bool is_whole(const struct websocket_mask *self)
{
	return self->frame.last && !self->in_message;
}

static size_t end_control(struct websocket_mask *self, uint8_t *out)
{
	size_t head = websocket_encode(&self->frame, out);

	mask_text(&self->mask, (char *)self->control, self->control_len);
	memcpy(out + head, self->control, self->control_len);
	return head + self->control_len;
}

static size_t feed_control(struct websocket_mask *self, const uint8_t *bytes,
			   size_t len, uint8_t *out)
{
	if (len)
		memcpy(self->control + self->control_len, bytes, len);
	self->control_len += (uint8_t)len;
	return self->left ? 0 : end_control(self, out);
}

/*
 * What is known to be no secret, and at the end of a message all of it: nobody
 * knows when the next one comes, but it may go on with what this one began.
 */
static size_t feed_mask(struct websocket_mask *self, const uint8_t *bytes,
			size_t len, uint8_t *out)
{
	size_t ready = mask_feed(&self->mask, bytes, len, out);

	if (!self->left && self->frame.last)
		ready += mask_pause(&self->mask, out + ready);
	return ready;
}

/* A frame of our own around what may leave. */
static size_t feed_part(struct websocket_mask *self, const uint8_t *bytes,
			size_t len, uint8_t *out)
{
	size_t ready = feed_mask(self, bytes, len, out + WEBSOCKET_HEAD_MAX);
	const struct websocket_frame frame = {
		.last = !self->left && self->frame.last,
		.opcode = self->opcode,
		.length = ready,
	};
	size_t head;

	if (!ready && !frame.last)
		return 0;
	head = websocket_encode(&frame, out);
	memmove(out + head, out + WEBSOCKET_HEAD_MAX, ready);
	self->opcode = WEBSOCKET_MORE;
	if (frame.last)
		self->in_message = false;
	return head + ready;
}

static size_t feed(struct websocket_mask *self, const uint8_t *bytes,
		   size_t len, uint8_t *out)
{
	self->left -= len;
	self->in_frame = self->left > 0;
	if (websocket_is_control(&self->frame))
		return feed_control(self, bytes, len, out);
	if (is_whole(self))
		return feed_mask(self, bytes, len, out);
	return feed_part(self, bytes, len, out);
}

static int begin(struct websocket_mask *self, const uint8_t *bytes, size_t len,
		 uint8_t *out, struct websocket_piece *piece)
{
	int head = websocket_parse(bytes, len, &self->frame, &piece->problem);

	if (head <= 0)
		return head;
	piece->problem = check_order(self);
	if (piece->problem)
		return -1;
	piece->taken = (size_t)head;
	self->left = self->frame.length;
	self->in_frame = self->left > 0;
	if (websocket_is_control(&self->frame)) {
		self->control_len = 0;
	} else if (is_whole(self)) {
		piece->len = websocket_encode(&self->frame, out);
	} else if (!self->in_message) {
		self->in_message = true;
		self->opcode = self->frame.opcode;
	}
	/* One without content is over with its head. */
	if (!self->left)
		piece->len += feed(self, NULL, 0, out + piece->len);
	return 0;
}

int websocket_mask_step(struct websocket_mask *self, const uint8_t *bytes,
			size_t len, uint8_t *out, struct websocket_piece *piece)
{
	*piece = (struct websocket_piece){ .taken = 0 };
	if (!self->in_frame)
		return begin(self, bytes, len, out, piece);
	piece->taken = len < self->left ? len : (size_t)self->left;
	if (piece->taken)
		piece->len = feed(self, bytes, piece->taken, out);
	return 0;
}
