/* SPDX-License-Identifier: Apache-2.0 */
/*
 * location.c - one side of `bawn cp`
 */
#include "cli/location.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/store.h"
#include "state/sandbox_record.h"

struct root {
	dev_t dev;
	ino_t ino;
};

struct roots {
	struct root *list; /* owned */
	size_t count;
};

int location_parse(const char *text, struct location *location,
		   struct error *err)
{
	const char *colon = strchr(text, ':');

	*location = (struct location){ .path = text };
	if (!strcmp(text, "-")) {
		location->kind = LOCATION_PIPE;
		return 0;
	}
	if (!*text)
		return options_usage(err, "a path is empty");
	if (*text == '/' || *text == '.' || !colon ||
	    text_format(location->name, sizeof(location->name), "%.*s",
			(int)(colon - text), text) < 0 ||
	    sandbox_name_check(location->name, NULL) < 0)
		return 0;
	location->kind = LOCATION_SANDBOX;
	location->path = colon + 1;
	if (!*location->path)
		return options_usage(err, "%s needs a path after the colon",
				     text);
	return 0;
}

static void add_root(struct roots *roots, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	roots->list = xrealloc(roots->list,
			       (roots->count + 1) * sizeof(*roots->list));
	roots->list[roots->count++] = (struct root){ st.st_dev, st.st_ino };
}

static void find_roots(const struct store *store, struct roots *roots)
{
	for (size_t i = 0; i < store->count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;

		if (store_find(store, store->names[i], &sandbox, NULL) < 0)
			continue;
		for (size_t j = 0; j < sandbox.record.shares.count; j++)
			add_root(roots, sandbox.record.shares.items[j].host);
	}
}

static bool is_root(const struct roots *roots, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	for (size_t i = 0; i < roots->count; i++)
		if (roots->list[i].dev == st.st_dev &&
		    roots->list[i].ino == st.st_ino)
			return true;
	return false;
}

/* Length of the shortest part of path that is a shared folder; 0: none. */
static size_t shared_part(const struct roots *roots, char *path)
{
	for (size_t i = 1; path[i - 1]; i++) {
		char kept = path[i];
		bool found;

		if (kept != '/' && kept != '\0')
			continue;
		path[i] = '\0';
		found = is_root(roots, path);
		path[i] = kept;
		if (found)
			return i;
	}
	return 0;
}

/* Absolute, without "..", "." and "//"; what it ends in is kept. */
static char *clean_path(const char *folder, const char *path)
{
	AUTO_FREE char *all = xasprintf("%s/%s", folder, path);
	const char *ending = text_ends(path, "/.") || !strcmp(path, ".") ? "/."
			     : text_ends(path, "/")                      ? "/"
									 : "";
	char *out = xmalloc(strlen(all) + 4), *rest = all, *part;
	size_t len = 0;

	while ((part = strsep(&rest, "/"))) {
		size_t size = strlen(part);

		if (!size || !strcmp(part, "."))
			continue;
		if (!strcmp(part, "..")) {
			while (len && out[--len] != '/')
				;
			continue;
		}
		out[len++] = '/';
		memcpy(out + len, part, size);
		len += size;
	}
	memcpy(out + len, ending, strlen(ending) + 1);
	if (!len && !*ending)
		memcpy(out, "/", 2);
	return out;
}

int location_place(const char *path, const struct store *store,
		   struct location_place *place, struct error *err)
{
	AUTO_FREE char *folder = *path == '/' ? xstrdup("") : getcwd(NULL, 0);
	AUTO_FREE char *part = NULL;
	struct roots roots = { NULL, 0 };
	const char *rest;
	size_t len;

	*place = PLACE_INIT;
	if (!folder)
		return error_set(err, errno, "this folder");
	place->path = clean_path(folder, path);
	place->tree.path = place->path;
	find_roots(store, &roots);
	len = shared_part(&roots, place->path);
	free(roots.list);
	rest = place->path + len;
	rest += strspn(rest, "/");
	/* a shared folder itself is the user's own word */
	if (!len || !*rest)
		return 0;
	part = xstrndup(place->path, len);
	place->tree.base = open(part, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (place->tree.base < 0) {
		place->tree.base = AT_FDCWD;
		return error_set(err, errno, "%s", part);
	}
	place->tree.beneath = true;
	place->tree.path = rest;
	return 0;
}

void location_close(struct location_place *place)
{
	if (place->tree.base != AT_FDCWD)
		close(place->tree.base);
	free(place->path);
	*place = PLACE_INIT;
}
