/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_trusts.c - files of the shares that the host's git runs or believes
 */
#include "cli/git_trusts.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/git_config.h"
#include "cli/git_file.h"
#include "cli/held_links.h"
#include "cli/share_parse.h"
#include "cli/share_path.h"
#include "state/share_list.h"

#define CONFIG_MAX (1u << 20)
#define MODULES_MAX 2000
#define MODULES_DEPTH_MAX 8

AUTO_DEFINE(dir, DIR *, closedir)

struct search {
	const struct share_list *shares;
	json_t *held;
	size_t found;
	size_t folders;     /* of submodules, looked at */
	const char *tree;   /* of the share that is looked at */
	const char *folder; /* of the config */
};

static void hold_path(struct search *search, const char *path)
{
	held_links_hold(search->shares, path, search->held, &search->found);
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

/* Where a submodule's files lie; NULL: its config does not say. */
static char *tree_of(const char *folder)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CONFIG_MAX);
	AUTO_FREE char *file = xasprintf("%s/config", folder);
	AUTO_FREE char *tree = NULL;
	AUTO_FREE char *path = NULL;

	if (fileio_read(AT_FDCWD, file, &text, NULL) < 0 || !text.len)
		return NULL;
	tree = git_file_worktree((const char *)text.data, text.len);
	if (!tree)
		return NULL;
	path = *tree == '/' ? xstrdup(tree) : xasprintf("%s/%s", folder, tree);
	return realpath(path, NULL);
}

/* Git folders of submodules, and of submodules in them. */
static void look_into_modules(struct search *search, const char *folder,
			      int depth)
{
	AUTO(dir) DIR *dir = opendir(folder);
	const char *tree = search->tree;
	const struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		AUTO_FREE char *path =
			xasprintf("%s/%s", folder, entry->d_name);
		AUTO_FREE char *own = NULL;

		/* A name may have slashes: what is no git folder is on the
		 * way to one. */
		if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
		    depth == MODULES_DEPTH_MAX ||
		    search->folders++ > MODULES_MAX ||
		    !strcmp(entry->d_name, "objects") ||
		    !strcmp(entry->d_name, "refs") ||
		    !strcmp(entry->d_name, "logs"))
			continue;
		own = tree_of(path);
		search->tree = own ? own : tree;
		look_into(search, path);
		search->tree = tree;
		look_into_modules(search, path, depth + 1);
	}
}

void git_trusts_add(const struct share_list *shares, json_t *held)
{
	struct search search = { .shares = shares, .held = held };
	const char *home = getenv("HOME");

	for (size_t i = 0; i < shares->count; i++) {
		const char *host = shares->items[i].host;
		AUTO_FREE char *inner = xasprintf("%s/.git", host);
		AUTO_FREE char *modules = xasprintf("%s/modules", inner);
		AUTO_FREE char *own =
			home ? xasprintf("%s/.gitconfig", home) : NULL;

		/* A shared git folder's work tree is the workspace. */
		search.tree =
			shares->items[i].added ? shares->items[0].host : host;
		look_into(&search, inner);
		look_into_modules(&search, modules, 0);
		if (shares->items[i].added)
			look_into(&search, host);
		search.folder = home;
		if (own)
			read_config(&search, own);
	}
}
