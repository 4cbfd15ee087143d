/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_check.c - what must not be shared
 *
 * A guest that could write bawn's own folders could choose what the host starts
 * next. They are refused here, and absent in every guest whatever is shared.
 */
#include "cli/share_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/share_path.h"
#include "cli/share_place.h"
#include "state/paths.h"
#include "state/share_list.h"

#define MOUNTS_MAX (4u << 20)

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

/* The same, where it is mounted once more: its path is another one then. */
static int check_own_mounts(const char *mounts, const char *path,
			    const char *shown, struct error *err)
{
	AUTO_SHARE_PLACE struct share_place place = { 0 }, in_it = { 0 };
	AUTO(folders) char **folders = share_own_folders();

	share_place_of(mounts, path, &place);
	for (char **folder = folders; *folder; folder++) {
		AUTO_SHARE_PLACE struct share_place own = { 0 };
		const char *at = mounts;
		bool lies;

		share_place_of(mounts, *folder, &own);
		lies = share_place_within(&place, &own);
		while (!lies && share_place_next(&at, path, &in_it))
			lies = share_place_within(&in_it, &own);
		if (lies)
			return error_set(err, 0,
					 "%s: a folder of bawn's own (%s), "
					 "which is never shared, is mounted "
					 "there",
					 shown, *folder);
	}
	return 0;
}

static bool is_mount_of(const char *mounts, const char *path, const char *other)
{
	AUTO_SHARE_PLACE struct share_place one = { 0 }, two = { 0 };
	AUTO_FREE char *real = other ? realpath(other, NULL) : NULL;

	if (!real)
		return false;
	share_place_of(mounts, path, &one);
	share_place_of(mounts, real, &two);
	return share_place_same(&one, &two);
}

static int check_place(const char *path, const char *shown,
		       enum share_force force, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(MOUNTS_MAX);
	const char *mounts = NULL;
	bool root, home;

	if (fileio_read(AT_FDCWD, "/proc/self/mountinfo", &text, NULL) == 0)
		mounts = buffer_str(&text);
	mounts = mounts ? mounts : "";
	root = !strcmp(path, "/") || is_mount_of(mounts, path, "/");
	home = is_home(path) || is_mount_of(mounts, path, getenv("HOME"));
	if ((root || home) && force != SHARE_FORCED)
		return error_set(err, 0,
				 "%s is %s: everything in it would be open to "
				 "the sandbox (go to a project's folder, or "
				 "give --force)",
				 shown,
				 root ? "the whole host" : "your home folder");
	if (check_own(path, shown, root || home, err) < 0)
		return -1;
	return root || home ? 0 : check_own_mounts(mounts, path, shown, err);
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
