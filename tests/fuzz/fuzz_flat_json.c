/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_flat_json.c - a state of the loop that anybody may have written
 */
#include "guest/flat_json.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char out[32];

	if (flat_json_find((const char *)data, size, "name", out,
			   sizeof(out)) == 0) {
		FUZZ_CHECK(memchr(out, '\0', sizeof(out)));
		FUZZ_CHECK(!strchr(out, '\033') && !strchr(out, '\n'));
	}
	return 0;
}
