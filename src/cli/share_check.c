/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_check.c - what must not be shared
 *
 * A guest that could write bawn's own folders could choose what the host starts
 * next. They are refused here, and absent in every guest whatever is shared.
 */
#include "cli/share_parse.h"

#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/share_path.h"
#include "state/paths.h"
#include "state/share_list.h"

AUTO_DEFINE(folders, char **, share_own_folders_free)

char **share_own_folders(void)
{
	char **folders = xcalloc(PATHS_KINDS + 1, sizeof(char *));
	size_t n = 0;

	for (unsigned kind = 0; kind < PATHS_KINDS; kind++) {
		char *path = paths_of((enum paths_kind)kind, NULL, NULL);
		char *real = path ? realpath(path, NULL) : NULL;

		if (real) {
			free(path);
			path = real;
		}
		if (path)
			folders[n++] = path;
	}
	return folders;
}

void share_own_folders_free(char **folders)
{
	for (char **folder = folders; *folder; folder++)
		free(*folder);
	free(folders);
}

static bool is_home_by(const char *home, const char *path)
{
	AUTO_FREE char *real = home ? realpath(home, NULL) : NULL;

	return real && !strcmp(real, path);
}

static bool is_home(const char *path)
{
	const struct passwd *user = getpwuid(getuid());

	return is_home_by(getenv("HOME"), path) ||
	       (user && is_home_by(user->pw_dir, path));
}

static int check_own(const char *path, const char *shown, bool whole,
		     struct error *err)
{
	AUTO(folders) char **folders = share_own_folders();

	for (char **own = folders; *own; own++) {
		if (share_path_within(path, *own))
			return error_set(err, 0,
					 "%s: lies in a folder of bawn's own "
					 "(%s), which is never shared",
					 shown, *own);
		if (!whole && share_path_within(*own, path))
			return error_set(err, 0,
					 "%s: holds a folder of bawn's own "
					 "(%s); share a folder beneath it",
					 shown, *own);
	}
	return 0;
}

static int check_place(const char *path, const char *shown,
		       enum share_force force, struct error *err)
{
	bool root = !strcmp(path, "/"), home = is_home(path);

	if ((root || home) && force != SHARE_FORCED)
		return error_set(err, 0,
				 "%s is %s: everything in it would be open to "
				 "the sandbox (go to a project's folder, or "
				 "give --force)",
				 shown,
				 root ? "the whole host" : "your home folder");
	return check_own(path, shown, root || home, err);
}

/*
 * A folder keeps a read-only folder in it apart; for a single file it could
 * not, and the guest would write it by way of the folder.
 */
static int check_nested(const struct share_record *inner,
			const struct share_record *outer, struct error *err)
{
	char shown[256];
	struct stat st;

	if (!inner->read_only || outer->read_only ||
	    !share_path_within(inner->host, outer->host) ||
	    stat(inner->host, &st) < 0 || S_ISDIR(st.st_mode))
		return 0;
	text_printable(inner->host, strlen(inner->host), shown, sizeof(shown));
	return error_set(err, 0,
			 "%s: a single file cannot be read-only in a folder "
			 "that is shared writable",
			 shown);
}

int share_check(const struct share_list *list, const struct share_record *share,
		enum share_force force, struct error *err)
{
	char shown[256];

	text_printable(share->host, strlen(share->host), shown, sizeof(shown));
	if (check_place(share->host, shown, force, err) < 0 ||
	    share_guest_check(share->guest, err) < 0)
		return -1;
	for (size_t i = 0; i < list->count; i++) {
		if (!strcmp(list->items[i].host, share->host))
			return error_say(err, EEXIST, "%s: shared already",
					 shown);
		if (!strcmp(list->items[i].guest, share->guest))
			return error_say(err, EEXIST,
					 "%s: another folder is at that place "
					 "in the sandbox already",
					 shown);
		if (check_nested(share, &list->items[i], err) < 0 ||
		    check_nested(&list->items[i], share, err) < 0)
			return -1;
	}
	if (list->count >= SHARE_LIST_MAX)
		return error_set(err, 0, "%s: more than %d folders", shown,
				 SHARE_LIST_MAX);
	return 0;
}
