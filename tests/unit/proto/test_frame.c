/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_frame.c - which headers are accepted
 */
#include "proto/frame.h"

#include "lib/tap.h"

static int survives(enum frame_type type, uint32_t stream, uint32_t len)
{
	struct frame frame = { .type = type, .stream = stream, .len = len };
	uint8_t bytes[FRAME_HEADER_BYTES];
	struct frame again;

	frame_encode(&frame, bytes);
	if (frame_decode(bytes, &again) < 0)
		return 0;
	return again.type == type && again.stream == stream && again.len == len;
}

static void each_type_has_its_lengths(void)
{
	CHECK(!survives(FRAME_MESSAGE, 0, 1));
	CHECK(survives(FRAME_MESSAGE, 0, 2));
	CHECK(survives(FRAME_MESSAGE, 0, FRAME_MESSAGE_MAX));
	CHECK(!survives(FRAME_MESSAGE, 0, FRAME_MESSAGE_MAX + 1));
	CHECK(!survives(FRAME_DATA, 1, 0));
	CHECK(survives(FRAME_DATA, 1, 1));
	CHECK(survives(FRAME_DATA, UINT32_MAX, FRAME_DATA_MAX));
	CHECK(!survives(FRAME_DATA, 1, FRAME_DATA_MAX + 1));
	CHECK(!survives(FRAME_WINDOW, 1, 3));
	CHECK(survives(FRAME_WINDOW, 1, 4));
	CHECK(!survives(FRAME_WINDOW, 1, 5));
	CHECK(survives(FRAME_EOF, 1, 0));
	CHECK(!survives(FRAME_EOF, 1, 1));
	CHECK(survives(FRAME_CLOSE, 1, 4));
	CHECK(!survives(FRAME_CLOSE, 1, 0));
	CHECK(!survives(FRAME_DATA, 1, UINT32_MAX));
}

static void only_messages_use_stream_0(void)
{
	CHECK(!survives(FRAME_MESSAGE, 1, 2));
	CHECK(!survives(FRAME_DATA, 0, 1));
	CHECK(!survives(FRAME_WINDOW, 0, 4));
	CHECK(!survives(FRAME_EOF, 0, 0));
	CHECK(!survives(FRAME_CLOSE, 0, 4));
}

static void unknown_types_are_refused(void)
{
	for (unsigned type = 0; type < 256; type++) {
		uint8_t bytes[FRAME_HEADER_BYTES] = { (uint8_t)type };
		struct frame frame;

		bytes[4] = type != FRAME_MESSAGE && type != FRAME_FREE;
		bytes[8] = type == FRAME_EOF ? 0 : type < FRAME_SLOT ? 4 : 8;
		CHECK((frame_decode(bytes, &frame) == 0) ==
		      (type >= FRAME_MESSAGE && type < FRAME_TYPES));
	}
}

static void reserved_bytes_must_be_zero(void)
{
	for (int at = 1; at <= 3; at++) {
		uint8_t bytes[FRAME_HEADER_BYTES] = { FRAME_EOF };
		struct frame frame;

		bytes[4] = 1;
		CHECK(frame_decode(bytes, &frame) == 0);
		bytes[at] = 1;
		CHECK(frame_decode(bytes, &frame) == -1);
	}
}

int main(void)
{
	RUN(each_type_has_its_lengths);
	RUN(only_messages_use_stream_0);
	RUN(unknown_types_are_refused);
	RUN(reserved_bytes_must_be_zero);
	return DONE();
}
