/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_session_frame.c - a header that decodes encodes to the same bytes
 */
#include "ipc/session_frame.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t again[SESSION_FRAME_HEADER_BYTES];
	struct session_frame frame;

	if (size < sizeof(again) || session_frame_decode(data, &frame) < 0)
		return 0;
	FUZZ_CHECK(frame.len <= SESSION_FRAME_MAX);
	session_frame_encode(&frame, again);
	FUZZ_CHECK(!memcmp(data, again, sizeof(again)));
	return 0;
}
