/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_append.c - one more rule for a sandbox: in its file, in its settings
 */
#include "launch/policy_append.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"

#define SCOPE "sandbox"

static bool has_line(const char *text, size_t len, const char *line)
{
	size_t want = strlen(line);

	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t used = end ? (size_t)(end - text) : len;

		if (used == want && memcmp(text, line, want) == 0)
			return true;
		used += end != NULL;
		text += used;
		len -= used;
	}
	return false;
}

static int append(struct buffer *text, const char *line)
{
	bool open = text->len && text->data[text->len - 1] != '\n';

	return buffer_printf(text, "%s%s\n", open ? "\n" : "", line);
}

int policy_append_file(int folder, const char *line, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(POLICY_APPEND_MAX);
	AUTO_CLOSE int lock =
		fileio_lock(folder, POLICY_APPEND_LOCK, FILEIO_LOCK_TRY, err);
	struct error missing = { 0 };

	if (lock < 0)
		return -1;
	if (fileio_read(folder, POLICY_APPEND_FILE, &text, &missing) < 0 &&
	    missing.code != ENOENT) {
		if (err)
			*err = missing;
		return -1;
	}
	if (has_line((const char *)text.data, text.len, line))
		return 0;
	if (append(&text, line) < 0)
		return error_set(err, EFBIG, POLICY_APPEND_FILE);
	return fileio_replace(folder, POLICY_APPEND_FILE, text.data, text.len,
			      0600, FILEIO_SYNC, err);
}

static json_t *own_source(json_t *sources)
{
	json_t *source;
	size_t i;

	json_array_foreach(sources, i, source)
	{
		const char *scope =
			json_string_value(json_object_get(source, "scope"));

		if (scope && strcmp(scope, SCOPE) == 0)
			return source;
	}
	source = json_pack("{s:s, s:s, s:s}", "scope", SCOPE, "name",
			   POLICY_APPEND_FILE, "text", "");
	json_array_append_new(sources, source);
	return source;
}

void policy_append_settings(json_t *settings, const char *line)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(2 * POLICY_APPEND_MAX);
	json_t *source = own_source(json_object_get(settings, "policy"));
	json_t *old = json_object_get(source, "text");
	const char *old_text = json_string_value(old);
	size_t len = json_string_length(old);

	if (!old_text || has_line(old_text, len, line) ||
	    buffer_append(&text, old_text, len) < 0 || append(&text, line) < 0)
		return;
	json_object_set_new(source, "text",
			    json_stringn((const char *)text.data, text.len));
}
