/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_words.c - what a guest answers to a loop, and which attempt is the best
 */
#include "cli/loop_words.h"

#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "loop/ralph_folder.h"

#define FILES_MAX 200
#define PATH_SHOWN 300
#define NUMBER_DIGITS 15
#define INTERRUPTED 130

static bool is_own(const char *path)
{
	return text_starts(path, RALPH_FOLDER "/") ||
	       text_starts(path, ".agent/");
}

int loop_words_files(const char *bytes, size_t len, uint64_t *now,
		     json_t **files)
{
	const char *end = len ? memchr(bytes, '\0', len) : NULL;
	char shown[PATH_SHOWN];

	if (!end || text_to_u64(bytes, 1, UINT64_MAX, now) < 0)
		return -1;
	*files = json_array();
	while (json_array_size(*files) < FILES_MAX) {
		const char *path = end + 1;

		len -= (size_t)(path - bytes);
		bytes = path;
		/* one that was cut off has another name */
		end = len ? memchr(bytes, '\0', len) : NULL;
		if (!end)
			break;
		if (end == path || is_own(path))
			continue;
		text_printable(path, strlen(path), shown, sizeof(shown));
		json_array_append_new(*files, json_string(shown));
	}
	return 0;
}

long loop_words_tasks(const char *bytes, size_t len, const char **file)
{
	static const char *const files[] = { RALPH_FOLDER "/" RALPH_TASKS,
					     ".agent/tasks.json" };

	*file = NULL;
	if (!len)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		size_t name = strlen(files[i]);

		if (len <= name || bytes[name] != '\n' ||
		    memcmp(bytes, files[i], name) != 0)
			continue;
		*file = files[i];
		return (long)name + 1;
	}
	return -1;
}

int loop_words_number(const char *bytes, size_t len, size_t *number)
{
	char text[NUMBER_DIGITS + 1] = "";
	uint64_t value;

	if (len && bytes[len - 1] == '\n')
		len--;
	if (!len || len > NUMBER_DIGITS)
		return -1;
	memcpy(text, bytes, len);
	if (strlen(text) != len || text_to_u64(text, 0, UINT32_MAX, &value) < 0)
		return -1;
	*number = (size_t)value;
	return 0;
}

size_t loop_words_choose(const int *codes, const size_t *lines, size_t count)
{
	size_t best = count;

	for (size_t i = 0; i < count; i++)
		if (!codes[i] && (best == count || lines[i] < lines[best]))
			best = i;
	return best;
}

int loop_words_code(const int *codes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (codes[i] == INTERRUPTED)
			return INTERRUPTED;
	/* what all say; else a limit was reached without a result */
	for (size_t i = 1; i < count; i++)
		if (codes[i] != codes[0])
			return 1;
	return count ? codes[0] : 1;
}
