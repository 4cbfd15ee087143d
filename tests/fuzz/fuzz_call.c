/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_call.c - however the bytes are cut, the same call is heard, it is one,
 * and an answer is found exactly where it ends
 *
 * The first byte says how they are cut. They are taken for both: what a relay
 * sends to a server that waits, and what a server sends to a relay that calls.
 */
#include "proto/call.h"

#include <string.h>

#include "lib/fuzz.h"

static struct call_ear hear(const uint8_t *data, size_t size, size_t step,
			    unsigned *heard)
{
	struct call_ear ear = { 0 };

	for (size_t at = 0; at < size; at += step) {
		size_t len = size - at < step ? size - at : step;

		*heard += call_hear(&ear, data + at, len);
		FUZZ_CHECK(ear.seen < CALL_BYTES);
	}
	return ear;
}

static void check_call(const uint8_t *data, size_t size,
		       const struct call_ear *ear)
{
	uint8_t bytes[CALL_BYTES];
	struct call call;

	call_begin(&call, ear->word);
	FUZZ_CHECK(!memcmp(call.word, ear->word, CALL_WORD_BYTES));
	call_encode(&call, bytes);
	FUZZ_CHECK(memmem(data, size, bytes, sizeof(bytes)));
}

static void check_answer(const uint8_t *data, size_t size, size_t step)
{
	uint8_t marker[CALL_MARKER_BYTES];
	struct call call;

	/* Its word is the beginning of what comes. */
	if (size < CALL_WORD_BYTES)
		return;
	call_begin(&call, data);
	for (size_t at = 0; at < size; at += step) {
		size_t len = size - at < step ? size - at : step;
		bool found = call_answered(&call, data + at, len, marker);
		const uint8_t *end = data + at + len;

		FUZZ_CHECK(found == (at + len >= CALL_ANSWER_BYTES &&
				     !memcmp(end - CALL_ANSWER_BYTES, call.word,
					     CALL_WORD_BYTES)));
		if (found)
			FUZZ_CHECK(!memcmp(marker, end - CALL_MARKER_BYTES,
					   CALL_MARKER_BYTES));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned heard_cut = 0, heard_whole = 0;
	struct call_ear cut, whole;
	size_t step;

	if (size < 2)
		return 0;
	step = (size_t)data[0] + 1;
	data++;
	size--;
	cut = hear(data, size, step, &heard_cut);
	whole = hear(data, size, size, &heard_whole);
	FUZZ_CHECK(heard_whole == (heard_cut > 0));
	FUZZ_CHECK(cut.seen == whole.seen);
	FUZZ_CHECK(!memcmp(cut.word, whole.word, CALL_WORD_BYTES));
	if (heard_whole)
		check_call(data, size, &whole);
	check_answer(data, size, step);
	return 0;
}
