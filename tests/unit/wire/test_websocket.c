/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_websocket.c - unit tests of wire/websocket.h
 */
#include "wire/websocket.h"

#include <string.h>

#include "lib/tap.h"

static void heads_are_read_and_written_alike(void)
{
	static const struct {
		uint8_t bytes[WEBSOCKET_HEAD_MAX];
		int len;
		struct websocket_frame frame;
	} rows[] = {
		{ { 0x81, 0x05 }, 2, { true, WEBSOCKET_TEXT, 5 } },
		{ { 0x02, 0x00 }, 2, { false, WEBSOCKET_BINARY, 0 } },
		{ { 0x80, 0x7d }, 2, { true, WEBSOCKET_MORE, 125 } },
		{ { 0x89, 0x7d }, 2, { true, WEBSOCKET_PING, 125 } },
		{ { 0x88, 0x00 }, 2, { true, WEBSOCKET_CLOSE, 0 } },
		{ { 0x82, 0x7e, 0x00, 0x7e },
		  4,
		  { true, WEBSOCKET_BINARY, 126 } },
		{ { 0x82, 0x7e, 0xff, 0xff },
		  4,
		  { true, WEBSOCKET_BINARY, 65535 } },
		{ { 0x82, 0x7f, 0, 0, 0, 0, 0, 1, 0, 0 },
		  10,
		  { true, WEBSOCKET_BINARY, 65536 } },
		{ { 0x82, 0x7f, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
		    0xff },
		  10,
		  { true, WEBSOCKET_BINARY, INT64_MAX } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct websocket_frame frame = { 0 };
		uint8_t out[WEBSOCKET_HEAD_MAX];
		const char *problem;

		for (int len = 0; len < rows[i].len; len++)
			CHECK(websocket_parse(rows[i].bytes, (size_t)len,
					      &frame, &problem) == 0);
		CHECK(websocket_parse(rows[i].bytes, sizeof(rows[i].bytes),
				      &frame, &problem) == rows[i].len);
		CHECK(frame.last == rows[i].frame.last);
		CHECK(frame.opcode == rows[i].frame.opcode);
		CHECK(frame.length == rows[i].frame.length);
		CHECK(websocket_encode(&frame, out) == (size_t)rows[i].len);
		CHECK(memcmp(out, rows[i].bytes, (size_t)rows[i].len) == 0);
	}
}

static void what_is_odd_is_refused(void)
{
	static const uint8_t rows[][WEBSOCKET_HEAD_MAX] = {
		{ 0xc1, 0x00 }, /* compressed */
		{ 0xa1, 0x00 }, /* other reserved bits */
		{ 0x91, 0x00 },
		{ 0x83, 0x00 }, /* unknown kinds */
		{ 0x8b, 0x00 },
		{ 0x81, 0x80 },             /* scrambled as a client does */
		{ 0x09, 0x00 },             /* control in several frames */
		{ 0x89, 0x7e, 0x00, 0x7e }, /* control that is long */
		{ 0x81, 0x7e, 0x00, 0x7d }, /* lengths in a longer form */
		{ 0x81, 0x7f, 0, 0, 0, 0, 0, 0, 0xff, 0xff },
		{ 0x81, 0x7f, 0x80 }, /* more than there is */
		{ 'H', 'T', 'T', 'P', '/', '1', '.', '1' },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct websocket_frame frame;
		const char *problem = NULL;

		CHECK(websocket_parse(rows[i], sizeof(rows[i]), &frame,
				      &problem) == -1);
		CHECK(problem != NULL);
	}
}

int main(void)
{
	RUN(heads_are_read_and_written_alike);
	RUN(what_is_odd_is_refused);
	return DONE();
}
