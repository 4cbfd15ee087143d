/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_path.c - what the paths of shares look like
 */
#include "cli/share_path.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "state/share_list.h"

/* The guest's own: nothing is mounted there, beneath it or over it. */
static const char *const kept[] = {
	"/dev", "/proc", "/sys", "/run/bawn", "/var/lib/bawn",
};

/* Nothing is mounted over these, which a session needs; beneath is fine. */
static const char *const needed[] = {
	"/bin",   "/boot",   "/etc",  "/home/agent", "/lib",     "/lib32",
	"/lib64", "/libx32", "/sbin", "/usr/bin",    "/usr/lib", "/run",
};

char *share_path_tidy(const char *path)
{
	size_t len = 0;
	char *out;

	if (*path != '/')
		return NULL;
	out = xmalloc(strlen(path) + 2);
	while (*path) {
		size_t part;

		path += strspn(path, "/");
		part = strcspn(path, "/");
		if (part == 2 && !strncmp(path, "..", 2)) {
			while (len && out[--len] != '/')
				;
		} else if (part && !(part == 1 && *path == '.')) {
			out[len++] = '/';
			memcpy(out + len, path, part);
			len += part;
		}
		path += part;
	}
	if (!len)
		out[len++] = '/';
	out[len] = '\0';
	return out;
}

static bool has_dots(const char *path)
{
	for (const char *at = path; (at = strstr(at, "/..")); at++)
		if (at[3] == '/' || at[3] == '\0')
			return true;
	return false;
}

int share_guest_check(const char *path, struct error *err)
{
	char shown[256];

	text_printable(path, strlen(path), shown, sizeof(shown));
	if (*path != '/')
		return error_set(err, 0,
				 "%s: the path in the sandbox must be absolute",
				 shown);
	if (strlen(path) > SHARE_PATH_MAX)
		return error_set(err, 0, "%s: too long a path", shown);
	if (has_dots(path))
		return error_set(err, 0,
				 "%s: the path in the sandbox may not have "
				 "\"..\"",
				 shown);
	if (!path[strspn(path, "/.")])
		return error_set(err, 0,
				 "the sandbox has a / of its own (give the "
				 "folder another place with -v HOST:GUEST)");
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		if (share_path_within(path, kept[i]) ||
		    share_path_within(kept[i], path))
			return error_set(err, 0,
					 "%s: the sandbox's own %s is there "
					 "(give the folder another place with "
					 "-v HOST:GUEST)",
					 shown, kept[i]);
	for (size_t i = 0; i < ARRAY_SIZE(needed); i++)
		if (share_path_within(needed[i], path))
			return error_set(err, 0,
					 "%s: would cover the sandbox's own %s "
					 "(give the folder another place with "
					 "-v HOST:GUEST)",
					 shown, needed[i]);
	return 0;
}

int share_split(const char *text, char **host, char **guest)
{
	const char *colon = NULL;

	for (const char *at = text; (at = strstr(at, ":/")); at++)
		colon = at;
	if (!colon || colon == text)
		return -1;
	*host = xstrndup(text, (size_t)(colon - text));
	*guest = xstrdup(colon + 1);
	return 0;
}
