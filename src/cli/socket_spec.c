/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket_spec.c - a Unix socket of the host for a sandbox, as it is written
 */
#include "cli/socket_spec.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/share_parse.h"
#include "cli/share_path.h"
#include "cli/store.h"
#include "state/share_list.h"
#include "state/socket_list.h"

AUTO_DEFINE(folders, char **, share_own_folders_free)

static char *from_here(const char *path)
{
	AUTO_FREE char *here = getcwd(NULL, 0);
	const char *home = getenv("HOME");

	if (text_starts(path, "~/") && home)
		return xasprintf("%s/%s", home, path + 2);
	return xasprintf("%s/%s", here ? here : "", path);
}

/*
 * Where it really is, so that no link is left in the path. The server may come
 * later, but the folder is there.
 */
static char *real_path(const char *path, struct error *err)
{
	AUTO_FREE char *whole = *path == '/' ? xstrdup(path) : from_here(path);
	AUTO_FREE char *folder = NULL;
	char *slash = strrchr(whole, '/'), *found = realpath(whole, NULL);

	if (found || errno != ENOENT) {
		if (!found)
			error_set(err, errno, "%s", path);
		return found;
	}
	folder = xstrndup(whole, (size_t)(slash - whole) + 1);
	found = realpath(folder, NULL);
	if (!found || !slash[1] || !strcmp(slash, "/.") ||
	    !strcmp(slash, "/..")) {
		free(found);
		error_set(err, ENOENT, "%s", path);
		return NULL;
	}
	free(folder);
	folder = found;
	return xasprintf("%s%s", strcmp(folder, "/") ? folder : "", slash);
}

int socket_spec_parse(const char *text, struct socket_record *socket,
		      struct error *err)
{
	AUTO_FREE char *host = NULL;
	AUTO_FREE char *guest = NULL;
	struct stat st;

	*socket = (struct socket_record){ 0 };
	if (!*text)
		return error_set(err, 0, "--socket needs a path");
	if (share_split(text, &host, &guest) < 0)
		host = xstrdup(text);
	socket->host = real_path(host, err);
	if (!socket->host)
		return -1;
	socket->guest = xstrdup(guest ? guest : socket->host);
	if (stat(socket->host, &st) == 0 && !S_ISSOCK(st.st_mode))
		return error_set(err, 0, "%s: not a Unix socket", socket->host);
	return share_guest_check(socket->guest, err);
}

static int check_shares(const char *path, const struct share_list *shares,
			const char *name, struct error *err)
{
	for (size_t i = 0; i < shares->count; i++) {
		const struct share_record *share = &shares->items[i];

		if (!share->read_only && share_path_within(path, share->host))
			return error_set(err, 0,
					 "%s: lies in a folder that sandbox %s "
					 "can write, and could be replaced "
					 "there (move the socket)",
					 path, name);
	}
	return 0;
}

int socket_spec_check(const struct socket_record *socket,
		      const struct share_list *shares,
		      const struct store *store, struct error *err)
{
	AUTO(folders) char **own = share_own_folders();

	for (char **folder = own; *folder; folder++)
		if (share_path_within(socket->host, *folder))
			return error_set(err, 0,
					 "%s: a socket of bawn's own, which is "
					 "never given to a sandbox",
					 socket->host);
	if (check_shares(socket->host, shares, "itself", err) < 0)
		return -1;
	for (size_t i = 0; i < store->count; i++) {
		AUTO_SANDBOX struct sandbox one = SANDBOX_INIT;

		if (store_find(store, store->names[i], &one, NULL) == 0 &&
		    check_shares(socket->host, &one.record.shares,
				 one.record.name, err) < 0)
			return -1;
	}
	return 0;
}
