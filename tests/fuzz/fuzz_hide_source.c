/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_hide_source.c - .bawnignore and settings; what comes out is a pattern
 */
#include "cli/hide_source.h"

#include <string.h>

#include "base/hide_pattern.h"
#include "lib/fuzz.h"

static void check_patterns(json_t *patterns)
{
	struct hide_list list = { 0 };
	json_t *value;
	size_t i;

	json_array_foreach(patterns, i, value)
	{
		if (i < HIDE_PATTERNS_MAX)
			FUZZ_CHECK(hide_list_add(&list, json_string_value(
								value)) == 0);
	}
	hide_list_release(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	json_t *lines = hide_source_lines(text, size, NULL);
	json_t *denied = hide_source_denied(text, size, NULL);
	json_t *placed = json_array(), *value;
	size_t i;

	check_patterns(lines);
	json_array_foreach(denied, i, value)
	{
		hide_source_place(json_string_value(value), "/home/u/p/sub",
				  "/home/u/p", "/home/u", placed);
	}
	check_patterns(placed);
	json_decref(placed);
	json_decref(lines);
	json_decref(denied);
	return 0;
}
