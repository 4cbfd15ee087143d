/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_file.c - data/guard and the user's additions to it
 */
#include "state/guard_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/paths.h"

#define FILE_BYTES_MAX (256U << 10)

static void add(char ***list, size_t *count, char *pattern)
{
	*list = xrealloc(*list, (*count + 1) * sizeof(**list));
	(*list)[(*count)++] = pattern;
}

static int check_pattern(const char *pattern)
{
	size_t depth = 1;

	for (const char *p = pattern; *p; p++) {
		if ((unsigned char)*p < ' ')
			return -1;
		depth += *p == '/';
	}
	/* A sign in front would be read as ours. */
	return !*pattern || *pattern == '!' || depth > 32 ||
			       strlen(pattern) > GUARD_FILE_PATTERN_BYTES_MAX
		       ? -1
		       : 0;
}

/* line is a whole one, without its end. */
static int add_line(struct guard_file *file, char *line)
{
	char *pattern = line + strcspn(line, " \t");
	size_t len;

	if (!*pattern)
		return -1;
	*pattern++ = '\0';
	pattern += strspn(pattern, " \t");
	len = strlen(pattern);
	while (len && (pattern[len - 1] == ' ' || pattern[len - 1] == '\t' ||
		       pattern[len - 1] == '\r'))
		pattern[--len] = '\0';
	if (check_pattern(pattern) < 0 ||
	    file->held_count + file->shown_count == GUARD_FILE_PATTERNS_MAX)
		return -1;
	if (strcmp(line, "held") == 0)
		add(&file->held, &file->held_count, xstrdup(pattern));
	else if (strcmp(line, "free") == 0)
		add(&file->held, &file->held_count, xasprintf("!%s", pattern));
	else if (strcmp(line, "shown") == 0)
		add(&file->shown, &file->shown_count, xstrdup(pattern));
	else
		return -1;
	return 0;
}

int guard_file_parse(struct guard_file *file, const char *text, size_t len,
		     const char *name, struct error *err)
{
	const char *end = text + len;

	for (unsigned number = 1; text < end; number++) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		AUTO_FREE char *line = NULL;
		size_t size = (size_t)((stop ? stop : end) - text);

		line = xstrndup(text, size);
		text += size + (stop ? 1 : 0);
		if (!line[strspn(line, " \t\r")] || *line == '#')
			continue;
		/* A NUL would hide the rest of its line. */
		if (strlen(line) != size || add_line(file, line) < 0)
			return error_set(err, 0,
					 "%s:%u: want held, free or shown and "
					 "a pattern (at most %d in all)",
					 name, number, GUARD_FILE_PATTERNS_MAX);
	}
	return 0;
}

static int load(struct guard_file *file, const char *path, bool must,
		struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(FILE_BYTES_MAX);

	if (fileio_read(AT_FDCWD, path, &text, err) < 0)
		return err->code == ENOENT && !must ? 0 : -1;
	return guard_file_parse(file, (const char *)text.data, text.len, path,
				err);
}

int guard_file_load(struct guard_file *file, struct error *err)
{
	AUTO_FREE char *data = paths_data_file("guard", err);
	AUTO_FREE char *own = NULL;

	*file = (struct guard_file){ 0 };
	if (!data)
		return -1;
	own = paths_of(PATHS_CONFIG, "guard", err);
	if (!own || load(file, data, true, err) < 0 ||
	    load(file, own, false, err) < 0) {
		guard_file_release(file);
		return -1;
	}
	return 0;
}

void guard_file_release(struct guard_file *file)
{
	for (size_t i = 0; i < file->held_count; i++)
		free(file->held[i]);
	for (size_t i = 0; i < file->shown_count; i++)
		free(file->shown[i]);
	free(file->held);
	free(file->shown);
	*file = (struct guard_file){ 0 };
}
