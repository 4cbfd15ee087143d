/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_guard_file.c - a guard's list; what is taken is one line, and bounded
 */
#include "state/guard_file.h"

#include <string.h>

#include "base/error.h"
#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guard_file file = { 0 };
	struct error err;

	guard_file_parse(&file, (const char *)data, size, "list", &err);
	FUZZ_CHECK(file.held_count + file.shown_count <=
		   GUARD_FILE_PATTERNS_MAX);
	for (size_t i = 0; i < file.held_count; i++) {
		FUZZ_CHECK(*file.held[i] && !strchr(file.held[i], '\n'));
		FUZZ_CHECK(strlen(file.held[i]) <=
			   GUARD_FILE_PATTERN_BYTES_MAX + 1);
	}
	guard_file_release(&file);
	return 0;
}
