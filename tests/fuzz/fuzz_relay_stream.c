/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_relay_stream.c - however the host's bytes are cut, the same records
 * come out, and what comes out lies inside
 *
 * The first byte says how they are cut.
 */
#include "guest/relay_stream.h"

#include <string.h>

#include "lib/fuzz.h"

static const uint8_t markers[2][RECORD_MARKER_BYTES] = { "next", "this" };

struct result {
	unsigned records, marks;
	uint32_t sum;
};

static void take(struct stream_in *in, struct result *result)
{
	const uint8_t *payload;
	struct record record;

	while (stream_in_next(in, &record, &payload)) {
		FUZZ_CHECK(record.len <= RECORD_PAYLOAD_MAX);
		FUZZ_CHECK(payload >= in->bytes);
		FUZZ_CHECK(payload + record.len <= in->bytes + in->len);
		result->records++;
		for (uint32_t i = 0; i < record.len; i++)
			result->sum = result->sum * 31 + payload[i];
	}
}

static struct result run(const uint8_t *data, size_t size, size_t step)
{
	struct result result = { 0 };
	struct stream_in in;

	stream_in_init(&in, STREAM_IN_BYTES);
	for (size_t at = 0; at < size; at += step) {
		size_t left, len = size - at < step ? size - at : step;
		void *room = stream_in_room(&in, &left);
		bool fresh;

		FUZZ_CHECK(left >= STREAM_RECORD_MAX);
		memcpy(room, data + at, len);
		fresh = stream_in_added(&in, len, markers, 2);
		take(&in, &result);
		if (fresh) {
			result.marks++;
			stream_in_reset(&in);
		}
	}
	stream_in_release(&in);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct result cut, whole;

	if (size < 2)
		return 0;
	cut = run(data + 1, size - 1, (size_t)data[0] + 1);
	whole = run(data + 1, size - 1, size - 1);
	/* A marker in the middle of a read is none: nothing follows one. */
	if (!cut.marks && !whole.marks) {
		FUZZ_CHECK(cut.records == whole.records);
		FUZZ_CHECK(cut.sum == whole.sum);
	}
	return 0;
}
