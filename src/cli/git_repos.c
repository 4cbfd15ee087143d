/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git_repos.c - repositories on GitHub that a workspace belongs to
 */
#include "cli/git_repos.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/git_config.h"
#include "cli/git_folder.h"
#include "state/share_list.h"

#define CONFIG_MAX (1u << 20)
#define OWNER_MAX 39
#define NAME_MAX_BYTES 100

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "abcdefghijklmnopqrstuvwxyz0123456789-";

/* What stands behind the host; NULL: it is another one's. */
static const char *path_of(const char *url)
{
	static const char *const begins[] = {
		"https://github.com/",
		"ssh://git@github.com/",
		"ssh://git@github.com:22/",
		"git@github.com:",
	};
	const char *at;

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++) {
		if (text_starts(url, begins[i]))
			return url + strlen(begins[i]);
	}
	/* https://USER@github.com/, or with a token in it */
	if (!text_starts(url, "https://"))
		return NULL;
	at = url + strlen("https://");
	at += strcspn(at, "/@");
	return text_starts(at, "@github.com/") ? at + strlen("@github.com/")
					       : NULL;
}

int git_repos_parse(const char *url, char out[GIT_REPO_SIZE])
{
	const char *path = path_of(url), *name;
	size_t owner, len;

	if (!path)
		return -1;
	owner = strspn(path, letters);
	if (!owner || owner > OWNER_MAX || path[owner] != '/')
		return -1;
	name = path + owner + 1;
	len = strlen(name);
	if (len && name[len - 1] == '/')
		len--;
	if (len > 4 && !memcmp(name + len - 4, ".git", 4))
		len -= 4;
	if (!len || len > NAME_MAX_BYTES || *name == '.')
		return -1;
	for (size_t i = 0; i < len; i++) {
		if (!strchr(letters, name[i]) && name[i] != '.' &&
		    name[i] != '_')
			return -1;
	}
	/* It becomes a path in rules. */
	return memmem(name, len, "..", 2)
		       ? -1
		       : text_format(out, GIT_REPO_SIZE, "%.*s/%.*s",
				     (int)owner, path, (int)len, name);
}

static bool has(const json_t *list, const char *repo)
{
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)
	{
		if (!strcmp(json_string_value(item), repo))
			return true;
	}
	return false;
}

void git_repos_add(const char *config, size_t len, json_t *list)
{
	struct git_setting setting = { .key = "" };
	const char *at = config;
	char repo[GIT_REPO_SIZE];

	while (git_config_next(&at, config + len, &setting)) {
		if (strcmp(setting.section, "remote") ||
		    (strcmp(setting.key, "url") &&
		     strcmp(setting.key, "pushurl")))
			continue;
		if (git_repos_parse(setting.value, repo) == 0 &&
		    !has(list, repo) && json_array_size(list) < GIT_REPOS_MAX)
			json_array_append_new(list, json_string(repo));
	}
}

static void read_config(const char *folder, json_t *list)
{
	struct open_how how = {
		.flags = O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CONFIG_MAX);
	AUTO_FREE char *path = xasprintf("%s/config", folder);
	AUTO_CLOSE int fd =
		(int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    fileio_read_fd(fd, &text, NULL) < 0 || !text.len)
		return;
	git_repos_add((const char *)text.data, text.len, list);
}

json_t *git_repos_of(const struct share_list *shares)
{
	struct share_record git = { .host = NULL };
	json_t *list = json_array();
	AUTO_FREE char *inner = NULL;

	if (!shares->count)
		return list;
	inner = xasprintf("%s/.git", shares->items[0].host);
	read_config(inner, list);
	if (git_folder_of(&shares->items[0], &git) == 0)
		read_config(git.host, list);
	free(git.host);
	free(git.guest);
	return list;
}
