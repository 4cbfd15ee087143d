/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.c - the sandboxes on this disk
 */
#include "cli/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/halt.h"
#include "state/paths.h"

#define NAMES_MAX 100000

AUTO_DEFINE(dir, DIR *, closedir)

void sandbox_close(struct sandbox *sandbox)
{
	if (sandbox->folder >= 0)
		close(sandbox->folder);
	sandbox_record_release(&sandbox->record);
	sandbox->folder = -1;
}

static void forget_names(struct store *store)
{
	for (size_t i = 0; i < store->count; i++)
		free(store->names[i]);
	free(store->names);
	store->names = NULL;
	store->count = 0;
}

void store_close(struct store *store)
{
	forget_names(store);
	if (store->folder >= 0)
		close(store->folder);
	store->folder = -1;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static DIR *open_dir(const struct store *store, struct error *err)
{
	AUTO_CLOSE int fd =
		openat(store->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir) {
		error_set(err, errno, "sandboxes");
		return NULL;
	}
	(void)TAKE_FD(fd);
	return dir;
}

int store_list(struct store *store, struct error *err)
{
	AUTO(dir) DIR *dir = open_dir(store, err);
	const struct dirent *entry;
	size_t room = 16;

	if (!dir)
		return -1;
	forget_names(store);
	store->names = xcalloc(room, sizeof(char *));
	while ((entry = readdir(dir)) && store->count < NAMES_MAX) {
		if (entry->d_name[0] == '.' ||
		    sandbox_name_check(entry->d_name, NULL) < 0)
			continue;
		if (store->count + 1 == room) {
			room *= 2;
			store->names =
				xrealloc(store->names, room * sizeof(char *));
		}
		store->names[store->count++] = xstrdup(entry->d_name);
	}
	store->names[store->count] = NULL;
	qsort(store->names, store->count, sizeof(char *), by_name);
	return 0;
}

int store_open(struct store *store, struct error *err)
{
	*store = STORE_INIT;
	store->folder = paths_open(PATHS_STATE, "sandboxes", err);
	if (store->folder < 0)
		return -1;
	return store_list(store, err);
}

static int no_such(const struct store *store, const char *name,
		   struct error *err)
{
	struct text_nearest nearest;
	char shown[80];

	text_nearest_init(&nearest, name);
	for (size_t i = 0; i < store->count; i++)
		text_nearest_offer(&nearest, store->names[i]);
	text_printable(name, strlen(name), shown, sizeof(shown));
	if (nearest.best)
		return error_say(err, ENOENT,
				 "no sandbox is called \"%s\" (did you mean "
				 "%s?)",
				 shown, nearest.best);
	return error_say(err, ENOENT,
			 "no sandbox is called \"%s\" (see `bawn ls`)", shown);
}

/* ENOENT when the folder is not there; names are checked before. */
static int open_in(int store_folder, const char *name, struct sandbox *sandbox,
		   struct error *err)
{
	*sandbox = SANDBOX_INIT;
	sandbox->folder =
		openat(store_folder, name,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sandbox->folder < 0)
		return error_set(err, errno, "sandbox %s", name);
	if (sandbox_record_load(sandbox->folder, &sandbox->record, err) < 0) {
		sandbox_close(sandbox);
		return error_prefix(err, "sandbox %s", name);
	}
	return 0;
}

int store_find(const struct store *store, const char *name,
	       struct sandbox *sandbox, struct error *err)
{
	struct error own = { 0 };

	*sandbox = SANDBOX_INIT;
	if (sandbox_name_check(name, NULL) < 0)
		return no_such(store, name, err);
	if (open_in(store->folder, name, sandbox, &own) == 0)
		return 0;
	if (own.code == ENOENT)
		return no_such(store, name, err);
	if (err)
		*err = own;
	return -1;
}

int sandbox_open(const char *name, struct sandbox *sandbox, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;

	*sandbox = SANDBOX_INIT;
	if (store_open(&store, err) < 0)
		return -1;
	return store_find(&store, name, sandbox, err);
}

int store_lock(const struct store *store, struct error *err)
{
	return fileio_lock(store->folder, SANDBOX_GLOBAL_LOCK, FILEIO_LOCK_WAIT,
			   err);
}

/* True when the file `file` of the folder `name` is locked by somebody. */
static bool held(const struct store *store, const char *name, const char *file)
{
	char path[SANDBOX_NAME_MAX + 64];

	return text_format(path, sizeof(path), "%s/%s", name, file) == 0 &&
	       fileio_is_locked(store->folder, path) == 1;
}

static bool has(const struct store *store, const char *name, const char *file)
{
	char path[SANDBOX_NAME_MAX + 64];

	return text_format(path, sizeof(path), "%s/%s", name, file) == 0 &&
	       faccessat(store->folder, path, F_OK, 0) == 0;
}

static bool is_leftover(const struct store *store, const char *name)
{
	return text_starts(name, SANDBOX_TEMPORARY) && strlen(name) < 32 &&
	       !held(store, name, STORE_LOCK_FILE);
}

size_t store_leftovers(const struct store *store)
{
	AUTO(dir) DIR *dir = open_dir(store, NULL);
	const struct dirent *entry;
	size_t count = 0;

	while (dir && (entry = readdir(dir)))
		count += is_leftover(store, entry->d_name);
	return count;
}

static void clean_half_made(const struct store *store)
{
	AUTO(dir) DIR *dir = open_dir(store, NULL);
	const struct dirent *entry;
	AUTO_CLOSE int lock = -1;
	struct error err = { 0 };

	while (dir && (entry = readdir(dir))) {
		if (!is_leftover(store, entry->d_name))
			continue;
		/* whoever makes one takes its lock under this one */
		if (lock < 0)
			lock = fileio_lock(store->folder, SANDBOX_GLOBAL_LOCK,
					   FILEIO_LOCK_TRY, &err);
		if (lock < 0)
			return;
		if (is_leftover(store, entry->d_name) &&
		    fileio_remove_tree(store->folder, entry->d_name, &err) < 0)
			log_debug("leftover %s: %s", entry->d_name, err.text);
	}
}

/* A sandbox of --rm whose command is gone, unless an agent still works. */
static void clean_orphan(const struct store *store, const char *name)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	struct error err = { 0 };

	/* a sandbox appears as a whole: this one is none */
	if (!has(store, name, "sandbox.json") &&
	    !held(store, name, STORE_LOCK_FILE) &&
	    !held(store, name, STORE_ALIVE_FILE) &&
	    store_remove(store, name, &err) < 0)
		log_debug("%s: %s", name, err.text);
	if (!has(store, name, STORE_OWNER_FILE) ||
	    held(store, name, STORE_OWNER_FILE) ||
	    held(store, name, STORE_LOCK_FILE))
		return;
	if (open_in(store->folder, name, &sandbox, &err) < 0)
		return;
	if (halt_if_idle(sandbox.folder, &err) < 0 ||
	    sandbox_remove_this(store->folder, name, sandbox.folder, true,
				&err) < 0)
		log_debug("%s is to be removed: %s", name, err.text);
}

void store_clean(struct store *store)
{
	clean_half_made(store);
	for (size_t i = 0; i < store->count; i++)
		clean_orphan(store, store->names[i]);
	store_list(store, NULL);
}

int store_remove(const struct store *store, const char *name, struct error *err)
{
	return sandbox_remove(store->folder, name, true, err);
}
