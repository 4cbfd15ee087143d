/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_session_frame.c - which session frame headers are accepted
 */
#include "ipc/session_frame.h"

#include "lib/tap.h"

static int survives(enum session_frame_type type, uint32_t len)
{
	struct session_frame frame = { .type = type, .len = len }, again;
	uint8_t bytes[SESSION_FRAME_HEADER_BYTES];

	session_frame_encode(&frame, bytes);
	if (session_frame_decode(bytes, &again) < 0)
		return 0;
	return again.type == type && again.len == len;
}

static void bytes_may_be_up_to_the_maximum(void)
{
	CHECK(survives(SESSION_FRAME_STDIN, 0));
	CHECK(survives(SESSION_FRAME_STDIN, SESSION_FRAME_MAX));
	CHECK(!survives(SESSION_FRAME_STDIN, SESSION_FRAME_MAX + 1));
	CHECK(survives(SESSION_FRAME_STDOUT, SESSION_FRAME_MAX));
	CHECK(!survives(SESSION_FRAME_STDOUT, UINT32_MAX));
	CHECK(survives(SESSION_FRAME_STDERR, 1));
	CHECK(survives(SESSION_FRAME_LOST, 100));
}

static void numbers_have_their_size(void)
{
	CHECK(survives(SESSION_FRAME_RESIZE, 4));
	CHECK(!survives(SESSION_FRAME_RESIZE, 3));
	CHECK(survives(SESSION_FRAME_SIGNAL, 4));
	CHECK(!survives(SESSION_FRAME_SIGNAL, 8));
	CHECK(survives(SESSION_FRAME_EXIT, 4));
	CHECK(!survives(SESSION_FRAME_EXIT, 0));
	CHECK(survives(SESSION_FRAME_WINDOW, 4));
	CHECK(!survives(SESSION_FRAME_WINDOW, 5));
	CHECK(survives(SESSION_FRAME_DETACH, 0));
	CHECK(!survives(SESSION_FRAME_DETACH, 1));
}

static void unknown_types_and_reserved_bytes_are_refused(void)
{
	struct session_frame frame;

	for (unsigned type = 0; type < 256; type++) {
		uint8_t bytes[SESSION_FRAME_HEADER_BYTES] = { (uint8_t)type };

		bytes[4] = type == SESSION_FRAME_DETACH ? 0 : 4;
		CHECK((session_frame_decode(bytes, &frame) == 0) ==
		      (type >= 1 && type < SESSION_FRAME_TYPES));
		bytes[1 + type % 3] = 1;
		CHECK(session_frame_decode(bytes, &frame) == -1);
	}
}

int main(void)
{
	RUN(bytes_may_be_up_to_the_maximum);
	RUN(numbers_have_their_size);
	RUN(unknown_types_and_reserved_bytes_are_refused);
	return DONE();
}
