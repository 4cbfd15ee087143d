/* SPDX-License-Identifier: Apache-2.0 */
/*
 * websocket.c - the heads of a server's WebSocket frames (RFC 6455, 5.2)
 */
#include "wire/websocket.h"

#define LAST 0x80u
#define RESERVED 0x70u
#define OPCODE 0x0fu
#define SCRAMBLED 0x80u
#define LENGTH 0x7fu
#define LENGTH_16 126u
#define LENGTH_64 127u

static bool is_known(uint8_t opcode)
{
	return opcode <= WEBSOCKET_BINARY ||
	       (opcode >= WEBSOCKET_CLOSE && opcode <= WEBSOCKET_PONG);
}

static const char *check_start(const uint8_t *bytes)
{
	if (bytes[0] & RESERVED)
		return "a WebSocket frame of an extension";
	if (!is_known(bytes[0] & OPCODE))
		return "a WebSocket frame of an unknown kind";
	return NULL;
}

static const char *check_length(uint8_t first, uint8_t second)
{
	if (second & SCRAMBLED)
		return "a WebSocket frame of a server that is masked";
	if ((first & OPCODE) >= WEBSOCKET_CLOSE &&
	    (!(first & LAST) || second > WEBSOCKET_CONTROL_MAX))
		return "a WebSocket control frame that is too long";
	return NULL;
}

/* One length has one form. */
static const char *check_form(uint64_t length, unsigned form)
{
	if ((form == LENGTH_16 && length < LENGTH_16) ||
	    (form == LENGTH_64 && (length <= UINT16_MAX || length >> 63)))
		return "a WebSocket frame with an odd length";
	return NULL;
}

int websocket_parse(const uint8_t *bytes, size_t len,
		    struct websocket_frame *out, const char **problem)
{
	size_t more;

	*problem = len ? check_start(bytes) : NULL;
	if (*problem)
		return -1;
	if (len < 2)
		return 0;
	*problem = check_length(bytes[0], bytes[1]);
	if (*problem)
		return -1;
	out->last = bytes[0] & LAST;
	out->opcode = bytes[0] & OPCODE;
	out->length = bytes[1];
	more = bytes[1] == LENGTH_16 ? 2 : bytes[1] == LENGTH_64 ? 8 : 0;
	if (len < 2 + more)
		return 0;
	if (more)
		out->length = 0;
	for (size_t i = 0; i < more; i++)
		out->length = out->length << 8 | bytes[2 + i];
	*problem = check_form(out->length, bytes[1]);
	return *problem ? -1 : (int)(2 + more);
}

size_t websocket_encode(const struct websocket_frame *frame, uint8_t *out)
{
	size_t more = frame->length < LENGTH_16     ? 0
		      : frame->length <= UINT16_MAX ? 2
						    : 8;

	out[0] = (uint8_t)((frame->last ? LAST : 0) | frame->opcode);
	out[1] = (uint8_t)(more == 0   ? frame->length
			   : more == 2 ? LENGTH_16
				       : LENGTH_64);
	for (size_t i = 0; i < more; i++)
		out[2 + i] = (uint8_t)(frame->length >> 8 * (more - 1 - i));
	return 2 + more;
}
