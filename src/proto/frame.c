/* SPDX-License-Identifier: Apache-2.0 */
/*
 * frame.c - the 12 bytes before every payload (PROTOCOL.md §2)
 */
#include "proto/frame.h"

#include "base/own.h"
#include "proto/cursor.h"

static const struct {
	uint32_t min, max; /* payload bytes */
} limits[] = {
	[FRAME_MESSAGE] = { 2, FRAME_MESSAGE_MAX },
	[FRAME_DATA] = { 1, FRAME_DATA_MAX },
	[FRAME_WINDOW] = { 4, 4 },
	[FRAME_EOF] = { 0, 0 },
	[FRAME_CLOSE] = { 4, 4 },
	[FRAME_SLOT] = { 8, 8 },
	[FRAME_FREE] = { 8, 8 },
};
_Static_assert(ARRAY_SIZE(limits) == FRAME_TYPES, "a row for each type");

void frame_encode(const struct frame *frame, uint8_t out[FRAME_HEADER_BYTES])
{
	struct writer w = writer_over(out, FRAME_HEADER_BYTES);

	writer_u32(&w, frame->type); /* the type and its three zero bytes */
	writer_u32(&w, frame->stream);
	writer_u32(&w, frame->len);
}

int frame_decode(const uint8_t in[FRAME_HEADER_BYTES], struct frame *frame)
{
	struct cursor c = cursor_over(in, FRAME_HEADER_BYTES);
	uint32_t type = cursor_u32(&c); /* reserved bytes make it too large */
	uint32_t stream = cursor_u32(&c);
	uint32_t len = cursor_u32(&c);

	if (type < FRAME_MESSAGE || type >= FRAME_TYPES)
		return -1;
	if ((type == FRAME_MESSAGE || type == FRAME_FREE) != (stream == 0))
		return -1;
	if (len < limits[type].min || len > limits[type].max)
		return -1;
	*frame = (struct frame){ .type = (enum frame_type)type,
				 .stream = stream,
				 .len = len };
	return 0;
}
