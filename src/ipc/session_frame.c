/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_frame.c - the 8 bytes before a session's payload (PROTOCOL.md §6)
 */
#include "ipc/session_frame.h"

#include "base/own.h"

static const struct {
	uint32_t min, max; /* payload bytes */
} limits[] = {
	[SESSION_FRAME_STDIN] = { 0, SESSION_FRAME_MAX },
	[SESSION_FRAME_STDOUT] = { 0, SESSION_FRAME_MAX },
	[SESSION_FRAME_STDERR] = { 0, SESSION_FRAME_MAX },
	[SESSION_FRAME_RESIZE] = { 4, 4 },
	[SESSION_FRAME_SIGNAL] = { 4, 4 },
	[SESSION_FRAME_EXIT] = { 4, 4 },
	[SESSION_FRAME_DETACH] = { 0, 0 },
	[SESSION_FRAME_LOST] = { 0, SESSION_FRAME_MAX },
	[SESSION_FRAME_WINDOW] = { 4, 4 },
};
_Static_assert(ARRAY_SIZE(limits) == SESSION_FRAME_TYPES,
	       "a row for each type");

void session_frame_encode(const struct session_frame *frame,
			  uint8_t out[SESSION_FRAME_HEADER_BYTES])
{
	out[0] = (uint8_t)frame->type;
	out[1] = out[2] = out[3] = 0;
	for (int i = 0; i < 4; i++)
		out[4 + i] = (uint8_t)(frame->len >> (8 * i));
}

int session_frame_decode(const uint8_t in[SESSION_FRAME_HEADER_BYTES],
			 struct session_frame *frame)
{
	uint8_t type = in[0];
	uint32_t len = 0;

	for (int i = 0; i < 4; i++)
		len |= (uint32_t)in[4 + i] << (8 * i);
	if (type < SESSION_FRAME_STDIN || type >= SESSION_FRAME_TYPES)
		return -1;
	if (in[1] || in[2] || in[3])
		return -1;
	if (len < limits[type].min || len > limits[type].max)
		return -1;
	*frame = (struct session_frame){
		.type = (enum session_frame_type)type,
		.len = len,
	};
	return 0;
}
