/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_spool_length.c - what a machine that saves says of its second disk
 */
#include "base/error.h"
#include "cli/spool_length.h"
#include "lib/fuzz.h"

#define LIMIT (UINT64_C(1) << 40)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct spool_length whole = { .limit = LIMIT }, parts = whole;
	struct error err;
	bool good = spool_length_feed(&whole, data, size, &err) == 0;
	bool same = true;

	FUZZ_CHECK(whole.bytes <= LIMIT && whole.len < sizeof(whole.line));
	/* the same in pieces */
	for (size_t i = 0; i < size && same; i++)
		same = spool_length_feed(&parts, data + i, 1, &err) == 0;
	FUZZ_CHECK(good == same && whole.bytes == parts.bytes);
	if (good && spool_length_finish(&whole, &err) == 0)
		FUZZ_CHECK(whole.told && data[size - 1] == '\n');
	return 0;
}
