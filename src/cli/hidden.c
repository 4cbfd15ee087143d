/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden.c - what a sandbox must not see of a share
 *
 * The last match wins, so what the project itself says comes first: a "!" in
 * its .bawnignore cannot show what the user hid.
 */
#include "cli/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/hide_pattern.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/hide_source.h"
#include "cli/share_path.h"
#include "state/paths.h"
#include "state/sandbox_record.h"

#define IGNORE_FILE ".bawnignore"

AUTO_DEFINE(json, json_t *, json_decref)

/* What was opened for path, or why it was not (-1 and errno). */
static int read_opened(int fd, const char *path, struct buffer *text,
		       struct error *err)
{
	struct stat st;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 1
			       : error_set(err, errno, "%s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(err, 0, "%s: not a file", path);
	if (fileio_read_fd(fd, text, err) < 0)
		return error_prefix(err, "%s", path);
	return 0;
}

/*
 * A regular file beneath folder; links may not lead out of it, since a guest
 * may have put them there. 1 when there is none.
 */
static int read_beneath(const char *folder, const char *path,
			struct buffer *text, struct error *err)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
	};
	AUTO_CLOSE int at =
		open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	AUTO_CLOSE int fd = -1;

	if (at >= 0)
		fd = (int)syscall(SYS_openat2, at, path, &how, sizeof(how));
	return read_opened(fd, path, text, err);
}

/*
 * The same of a folder that no guest writes: people keep such files elsewhere
 * and link to them.
 */
static int read_linked(const char *folder, const char *path,
		       struct buffer *text, struct error *err)
{
	AUTO_FREE char *whole = xasprintf("%s/%s", folder, path);
	AUTO_CLOSE int fd =
		open(whole, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	return read_opened(fd, path, text, err);
}

static int append(json_t *patterns, const char *pattern)
{
	json_t *other;
	size_t i;

	json_array_foreach(patterns, i, other)
	{
		if (!strcmp(json_string_value(other), pattern))
			json_array_remove(patterns, i--);
	}
	if (json_array_size(patterns) == HIDE_PATTERNS_MAX)
		return -1;
	return json_array_append_new(patterns, json_string(pattern));
}

static int append_all(json_t *patterns, const json_t *more)
{
	json_t *pattern;
	size_t i;

	json_array_foreach(more, i, pattern)
	{
		if (append(patterns, json_string_value(pattern)) < 0)
			return -1;
	}
	return 0;
}

static int too_many(struct error *err)
{
	return error_set(err, 0, "more than %d hidden paths",
			 HIDE_PATTERNS_MAX);
}

static int add_ignore_file(const struct share_record *share, json_t *patterns,
			   struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(HIDE_SOURCE_MAX);
	AUTO(json) json_t *lines = NULL;
	int result = read_beneath(share->host, IGNORE_FILE, &text, err);

	if (result != 0)
		return result < 0 ? -1 : 0;
	lines = hide_source_lines((const char *)text.data, text.len, err);
	if (!lines)
		return error_prefix(err, IGNORE_FILE);
	return append_all(patterns, lines) < 0 ? too_many(err) : 0;
}

/* Once for each name that the two folders have on the host. */
static int place_denied(const char *denied, const struct share_record *share,
			const struct share_record *workspace, const char *home,
			json_t *patterns)
{
	const char *names[][2] = {
		{ share->host, workspace->host },
		{ share->guest, workspace->guest },
		/* what is said about "here" counts in every share */
		{ share->host, share->host },
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		AUTO(json) json_t *placed = json_array();

		if (hide_source_place(denied, names[i][0], names[i][1], home,
				      placed) < 0 ||
		    append_all(patterns, placed) < 0)
			return -1;
	}
	return 0;
}

struct settings {
	const char *folder, *file;
	int (*read)(const char *folder, const char *path, struct buffer *text,
		    struct error *err);
};

static void add_settings(const struct sandbox_record *record, size_t at,
			 const struct settings *from, json_t *patterns)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(HIDE_SOURCE_MAX);
	AUTO(json) json_t *denied = NULL;
	const char *home = getenv("HOME");
	struct error err = { 0 };
	json_t *path;
	size_t i;
	int result = from->read(from->folder, from->file, &text, &err);

	if (result == 0)
		denied = hide_source_denied((const char *)text.data, text.len,
					    &err);
	if (result < 0 || (result == 0 && !denied)) {
		if (at == 0)
			log_warn("%s/%s: %s; nothing is hidden for it",
				 from->folder, from->file, err.text);
		return;
	}
	json_array_foreach(denied, i, path)
	{
		if (place_denied(json_string_value(path),
				 &record->shares.items[at],
				 &record->shares.items[0], home ? home : "/",
				 patterns) < 0)
			log_warn("%s/%s: a denied path is too long, or one "
				 "too many",
				 from->folder, from->file);
	}
}

static void add_all_settings(const struct sandbox_record *record, size_t at,
			     json_t *patterns)
{
	const char *workspace = record->shares.items[0].host;
	const struct settings all[] = {
		{ "/etc/claude-code", "managed-settings.json", read_linked },
		{ getenv("HOME"), ".claude/settings.json", read_linked },
		{ getenv("CLAUDE_CONFIG_DIR"), "settings.json", read_linked },
		{ workspace, ".claude/settings.json", read_beneath },
		{ workspace, ".claude/settings.local.json", read_beneath },
	};

	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (all[i].folder && *all[i].folder == '/')
			add_settings(record, at, &all[i], patterns);
}

/* The part of path behind folder; NULL when it does not lie beneath it. */
static const char *rest_of(const char *path, const char *folder)
{
	if (!share_path_within(path, folder) || !strcmp(path, folder))
		return NULL;
	return path + (folder[1] ? strlen(folder) : 0);
}

/* A read-only share in a writable one is not reached through that one. */
static int add_nested(const struct sandbox_record *record, size_t at,
		      json_t *patterns)
{
	const struct share_record *outer = &record->shares.items[at];

	for (size_t i = 0; !outer->read_only && i < record->shares.count; i++) {
		const struct share_record *inner = &record->shares.items[i];
		const char *rest = rest_of(inner->host, outer->host);
		const char *inside = rest_of(inner->guest, outer->guest);
		AUTO_FREE char *escaped = NULL;
		AUTO_FREE char *pattern = NULL;

		if (!inner->read_only || !rest || !inside ||
		    strcmp(rest, inside))
			continue;
		escaped = hide_source_escape(rest);
		pattern = xasprintf("%s/**", escaped);
		if (append(patterns, pattern) < 0)
			return -1;
	}
	return 0;
}

static int add_place(const char *path, const char *folder, json_t *patterns)
{
	const char *rest = path ? rest_of(path, folder) : NULL;
	AUTO_FREE char *escaped = rest ? hide_source_escape(rest) : NULL;

	return escaped ? append(patterns, escaped) : 0;
}

/*
 * The places of bawn's own folders. bawn-files knows the folders themselves;
 * a guest that moves one's parent away could make another in its place, which
 * the next command would believe.
 */
static int add_own(const struct share_record *share, json_t *patterns)
{
	for (unsigned kind = 0; kind < PATHS_KINDS; kind++) {
		AUTO_FREE char *path =
			paths_of((enum paths_kind)kind, NULL, NULL);
		AUTO_FREE char *tidy = path ? share_path_tidy(path) : NULL;
		AUTO_FREE char *real = path ? realpath(path, NULL) : NULL;

		if (add_place(tidy, share->host, patterns) < 0 ||
		    add_place(real, share->host, patterns) < 0)
			return -1;
	}
	return 0;
}

json_t *hidden_of(const struct sandbox_record *record, size_t at,
		  struct error *err)
{
	const struct share_record *share = &record->shares.items[at];
	AUTO(json) json_t *patterns = json_array();

	if (add_ignore_file(share, patterns, err) < 0) {
		char shown[256];

		text_printable(share->host, strlen(share->host), shown,
			       sizeof(shown));
		error_prefix(err, "%s", shown);
		return NULL;
	}
	add_all_settings(record, at, patterns);
	for (char **hide = record->hide; hide && *hide; hide++)
		if (append(patterns, *hide) < 0) {
			too_many(err);
			return NULL;
		}
	if (add_nested(record, at, patterns) < 0 ||
	    add_own(share, patterns) < 0) {
		too_many(err);
		return NULL;
	}
	return TAKE_PTR(patterns);
}
