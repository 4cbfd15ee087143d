/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_loop_output.c - what an agent prints, in any pieces
 */
#include "loop/output.h"

#include <string.h>

#include "lib/fuzz.h"

static void feed(enum output_format format, const uint8_t *data, size_t size,
		 size_t piece, struct output *out)
{
	output_init(out, format);
	for (size_t at = 0; at < size; at += piece) {
		size_t len = size - at < piece ? size - at : piece;

		output_feed(out, data + at, len);
		output_feed_errors(out, data + at, len);
	}
	output_finish(out, "a line\nanother\n");
	FUZZ_CHECK(out->message.len <= OUTPUT_MESSAGE_MAX);
	FUZZ_CHECK(out->errors.len <= OUTPUT_ERRORS_MAX);
	FUZZ_CHECK(memchr(out->action, '\0', sizeof(out->action)));
	FUZZ_CHECK(memchr(out->error, '\0', sizeof(out->error)));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	for (int i = 0; i < OUTPUT_FORMATS; i++) {
		struct output whole, parts;

		feed((enum output_format)i, data, size, size + 1, &whole);
		feed((enum output_format)i, data, size, 7, &parts);
		FUZZ_CHECK(whole.message.len == parts.message.len);
		FUZZ_CHECK(whole.cost_micros == parts.cost_micros);
		FUZZ_CHECK(whole.failed == parts.failed);
		output_release(&whole);
		output_release(&parts);
	}
	return 0;
}
