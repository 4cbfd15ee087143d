/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_loop_words.c - what a guest answers to a loop
 */
#include "cli/loop_words.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data, *file;
	json_t *files = NULL;
	uint64_t now = 0;
	size_t number;
	long at;

	if (loop_words_files(bytes, size, &now, &files) == 0) {
		FUZZ_CHECK(now > 0 && json_array_size(files) <= 200);
		for (size_t i = 0; i < json_array_size(files); i++) {
			const char *name =
				json_string_value(json_array_get(files, i));

			FUZZ_CHECK(name && *name && !strchr(name, '\033'));
		}
	}
	json_decref(files);
	at = loop_words_tasks(bytes, size, &file);
	FUZZ_CHECK(at <= (long)size && (at > 0) == (file != NULL));
	if (loop_words_number(bytes, size, &number) == 0)
		FUZZ_CHECK(size <= 16);
	return 0;
}
