/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_hide_pattern.c - lines of patterns, then a path; a plain name matches
 * itself
 */
#include "base/hide_pattern.h"

#include <string.h>

#include "lib/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct hide_list list = { 0 };
	char text[2048], *line = text, *next;
	bool hidden;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	while ((next = strchr(line, '\n'))) {
		*next = '\0';
		hide_list_add(&list, line);
		line = next + 1;
	}
	hidden = hide_list_matches(&list, line, HIDE_FILE);
	hide_list_matches(&list, line, HIDE_FOLDER);
	hide_list_holds(&list, line);
	FUZZ_CHECK(list.count || !hidden);
	hide_list_release(&list);
	return 0;
}
