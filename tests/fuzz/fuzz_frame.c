/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_frame.c - a header that decodes encodes to the same bytes
 */
#include "proto/frame.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[FRAME_HEADER_BYTES];
	struct frame frame;

	if (size < sizeof(again) || frame_decode(data, &frame) < 0)
		return 0;
	FUZZ_CHECK(frame.len <= FRAME_MESSAGE_MAX);
	frame_encode(&frame, again);
	FUZZ_CHECK(!memcmp(data, again, sizeof(again)));
	return 0;
}
