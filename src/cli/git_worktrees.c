/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_worktrees.c - linked work trees that a shared repository has elsewhere
 */
#include "cli/git_worktrees.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/git_file.h"
#include "cli/hide_source.h"
#include "cli/share_path.h"
#include "state/guard_file.h"
#include "state/share_list.h"

#define ENTRIES_MAX 1000

AUTO_DEFINE(dir, DIR *, closedir)

/* What is in no share is not there for a git inside. */
static bool lies_elsewhere(const struct share_list *shares, const char *folder)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(GIT_FILE_MAX);
	AUTO_FREE char *file = xasprintf("%s/gitdir", folder);
	AUTO_FREE char *line = NULL;
	AUTO_FREE char *whole = NULL;
	AUTO_FREE char *tidy = NULL;

	if (fileio_read(AT_FDCWD, file, &text, NULL) < 0 || !text.len)
		return false;
	line = git_file_line((const char *)text.data, text.len, "");
	if (!line)
		return false;
	whole = *line == '/' ? xstrdup(line) : xasprintf("%s/%s", folder, line);
	tidy = share_path_tidy(whole);
	for (size_t i = 0; tidy && i < shares->count; i++) {
		if (share_path_within(tidy, shares->items[i].host))
			return false;
	}
	return tidy;
}

/* prefix: the git folder, seen from the share's root. */
static void look_into(const struct share_list *shares, const char *host,
		      const char *prefix, json_t *held, size_t *count)
{
	AUTO_FREE char *worktrees = xasprintf("%s%s/worktrees", host, prefix);
	AUTO(dir) DIR *dir = opendir(worktrees);
	const struct dirent *entry;

	for (int i = 0; dir && i < ENTRIES_MAX && (entry = readdir(dir)); i++) {
		AUTO_FREE char *folder =
			xasprintf("%s/%s", worktrees, entry->d_name);
		AUTO_FREE char *escaped = hide_source_escape(entry->d_name);
		AUTO_FREE char *pattern =
			xasprintf("%s/worktrees/%s/**", prefix, escaped);

		if (*count == GIT_WORKTREES_MAX || entry->d_type != DT_DIR ||
		    entry->d_name[0] == '.' ||
		    strlen(pattern) > GUARD_FILE_PATTERN_BYTES_MAX ||
		    !lies_elsewhere(shares, folder))
			continue;
		if (json_array_append_new(held, json_string(pattern)) == 0)
			++*count;
	}
}

void git_worktrees_add(const struct share_list *shares, json_t *held)
{
	size_t count = 0;

	for (size_t i = 0; i < shares->count; i++) {
		const char *host = shares->items[i].host;

		look_into(shares, host, "/.git", held, &count);
		/* one that is shared as such, or bare */
		look_into(shares, host, "", held, &count);
	}
}
