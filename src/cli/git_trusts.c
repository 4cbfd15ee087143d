/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_trusts.c - files of the shares that the host's git runs or believes
 */
#include "cli/git_trusts.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/git_config.h"
#include "cli/hide_source.h"
#include "cli/share_parse.h"
#include "cli/share_path.h"
#include "state/guard_file.h"
#include "state/share_list.h"

#define CONFIG_MAX (1u << 20)

struct search {
	const struct share_list *shares;
	json_t *held;
	size_t found;
	const char *tree;   /* of the share that is looked at */
	const char *folder; /* of the config */
};

static void hold(struct search *search, const char *rest, const char *ending)
{
	AUTO_FREE char *escaped = hide_source_escape(rest);
	AUTO_FREE char *pattern = xasprintf("%s%s", escaped, ending);

	if (search->found == GIT_TRUSTS_MAX ||
	    strlen(pattern) > GUARD_FILE_PATTERN_BYTES_MAX)
		return;
	/* First: your own lines may say otherwise. */
	if (json_array_insert_new(search->held, search->found,
				  json_string(pattern)) == 0)
		search->found++;
}

/* Itself or, should it be a folder, all that is in it. */
static void hold_path(struct search *search, const char *path)
{
	for (size_t i = 0; i < search->shares->count; i++) {
		const char *host = search->shares->items[i].host;

		if (!share_path_within(path, host) || !strcmp(path, host))
			continue;
		hold(search, path + strlen(host), "");
		hold(search, path + strlen(host), "/**");
	}
}

/* As it is written and, where links are on the way, what it leads to. */
static void take_path(struct search *search, const char *base, const char *path)
{
	const char *home = getenv("HOME");
	AUTO_FREE char *whole = NULL;
	AUTO_FREE char *tidy = NULL;
	AUTO_FREE char *real = NULL;

	if (text_starts(path, "~/") && home)
		whole = xasprintf("%s/%s", home, path + 2);
	else
		whole = *path == '/' ? xstrdup(path)
				     : xasprintf("%s/%s", base, path);
	tidy = share_path_tidy(whole);
	real = realpath(whole, NULL);
	if (tidy)
		hold_path(search, tidy);
	if (real && (!tidy || strcmp(real, tidy)))
		hold_path(search, real);
}

/* A word without a slash is looked for in PATH. */
static void take_command(struct search *search, char *command)
{
	char *save = NULL;

	for (char *word = strtok_r(command, " \t'\"!;&|()=", &save); word;
	     word = strtok_r(NULL, " \t'\"!;&|()=", &save)) {
		if (strchr(word, '/'))
			take_path(search, search->tree, word);
	}
}

static void read_config(struct search *search, const char *file)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CONFIG_MAX);
	struct git_setting setting = { .key = "" };
	const char *at, *end;

	if (fileio_read(AT_FDCWD, file, &text, NULL) < 0 || !text.len)
		return;
	at = (const char *)text.data;
	end = at + text.len;
	while (git_config_next(&at, end, &setting)) {
		if (git_config_is_command(&setting))
			take_command(search, setting.value);
		else if (git_config_is_path(&setting))
			take_path(search,
				  strcmp(setting.key, "path") ? search->tree
							      : search->folder,
				  setting.value);
	}
}

/* folder: what may be a git folder; nothing happens when it is none. */
static void look_into(struct search *search, const char *folder)
{
	static const char *const files[] = { "config", "config.worktree" };
	AUTO_FREE char *hooks = xasprintf("%s/hooks", folder);
	AUTO_FREE char *real = realpath(hooks, NULL);

	search->folder = folder;
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		AUTO_FREE char *file = xasprintf("%s/%s", folder, files[i]);

		read_config(search, file);
	}
	if (real && strcmp(real, hooks))
		hold_path(search, real);
}

void git_trusts_add(const struct share_list *shares, json_t *held)
{
	struct search search = { .shares = shares, .held = held };
	const char *home = getenv("HOME");

	for (size_t i = 0; i < shares->count; i++) {
		const char *host = shares->items[i].host;
		AUTO_FREE char *inner = xasprintf("%s/.git", host);
		AUTO_FREE char *own =
			home ? xasprintf("%s/.gitconfig", home) : NULL;

		/* A shared git folder's work tree is the workspace. */
		search.tree =
			shares->items[i].added ? shares->items[0].host : host;
		look_into(&search, inner);
		if (shares->items[i].added)
			look_into(&search, host);
		search.folder = home;
		if (own)
			read_config(&search, own);
	}
}
