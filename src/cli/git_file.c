/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_file.c - the small files by which git finds a repository that lies
 * elsewhere
 */
#include "cli/git_file.h"

#include <stdbool.h>
#include <string.h>

#include "base/mem.h"

char *git_file_line(const char *text, size_t len, const char *prefix)
{
	size_t skip = strlen(prefix);

	if (len > GIT_FILE_MAX || memchr(text, '\0', len))
		return NULL;
	if (len && text[len - 1] == '\n')
		len--;
	if (len && text[len - 1] == '\r')
		len--;
	if (len <= skip || memcmp(text, prefix, skip) ||
	    memchr(text, '\n', len))
		return NULL;
	return xstrndup(text + skip, len - skip);
}

static const char *skip_blanks(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\t'))
		at++;
	return at;
}

/* "worktree = VALUE" without quotes or comments; NULL when it is not. */
static char *value_of(const char *at, const char *end)
{
	static const char key[] = "worktree";
	const size_t len = sizeof(key) - 1;

	if ((size_t)(end - at) <= len || memcmp(at, key, len))
		return NULL;
	at = skip_blanks(at + len, end);
	if (at == end || *at != '=')
		return NULL;
	at = skip_blanks(at + 1, end);
	while (end > at && (end[-1] == ' ' || end[-1] == '\r'))
		end--;
	for (const char *c = at; c < end; c++)
		if (strchr("\"\\#;", *c))
			return NULL;
	return end > at ? xstrndup(at, (size_t)(end - at)) : NULL;
}

char *git_file_worktree(const char *text, size_t len)
{
	const char *end = text + len;
	bool in_core = false;

	if (len > GIT_FILE_MAX || memchr(text, '\0', len))
		return NULL;
	while (text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		const char *at;
		char *value;

		if (!stop)
			stop = end;
		at = skip_blanks(text, stop);
		if (at < stop && *at == '[')
			in_core = stop - at == 6 && !memcmp(at, "[core]", 6);
		value = in_core ? value_of(at, stop) : NULL;
		if (value)
			return value;
		text = stop + (stop < end);
	}
	return NULL;
}
