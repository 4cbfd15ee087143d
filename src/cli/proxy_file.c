/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proxy_file.c - the files of proxy-config.json shape
 */
#include "cli/proxy_file.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/policy_set.h"
#include "cli/proxy_config.h"
#include "cli/store.h"
#include "tree/tree_open.h"

#define FILE_NAME "proxy-config.json"
#define DEFAULT_PATH ".sandboxd/" FILE_NAME
#define SANDBOX_PATH ".docker/sandboxes/vm/%s/" FILE_NAME

AUTO_DEFINE(json, json_t *, json_decref)

static int open_home(struct error *err)
{
	const char *home = getenv("HOME");
	int fd;

	if (!home || *home != '/')
		return error_set(err, 0, "HOME is not set");
	fd = open(home, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd >= 0 ? fd : error_set(err, errno, "%s", home);
}

/* A guest that writes it would choose what other sandboxes may reach. */
static int check_shared(const struct store *store, struct error *err)
{
	AUTO_FREE char *home = realpath(getenv("HOME"), NULL);
	AUTO_FREE char *path = xasprintf("%s/" DEFAULT_PATH, home ? home : "");

	for (size_t i = 0; i < store->count; i++) {
		AUTO_SANDBOX struct sandbox one = SANDBOX_INIT;
		const struct share_list *shares = &one.record.shares;

		if (store_find(store, store->names[i], &one, NULL) < 0)
			continue;
		for (size_t j = 0; j < shares->count; j++)
			if (!shares->items[j].read_only &&
			    share_path_within(path, shares->items[j].host))
				return error_set(err, 0,
						 "sandbox %s can write it, so "
						 "it is not believed",
						 one.record.name);
	}
	return 0;
}

static int read_default(int fd, const struct store *store,
			struct buffer *policy, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(PROXY_CONFIG_MAX);
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set(err, errno, "stat");
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return error_set(err, 0, "not a file of yours");
	if (check_shared(store, err) < 0 || fileio_read_fd(fd, &text, err) < 0)
		return -1;
	return proxy_config_read((const char *)text.data, text.len, policy,
				 err);
}

int proxy_file_default(const struct store *store, struct buffer *policy,
		       struct error *err)
{
	AUTO_CLOSE int home = open_home(err);
	AUTO_CLOSE int fd = -1;

	if (home < 0)
		return -1;
	fd = tree_open(home, DEFAULT_PATH, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return tree_error(err, errno, "~/" DEFAULT_PATH);
	if (read_default(fd, store, policy, err) < 0)
		return error_prefix(err, "~/" DEFAULT_PATH);
	return 1;
}

/* All that holds for the sandbox, in the file's shape. */
static char *contents(const struct sandbox *sandbox, struct error *err)
{
	AUTO_POLICY_SET struct policy_set set = { 0 };
	AUTO(policy) struct policy *policy = NULL;
	AUTO(json) json_t *config = NULL;

	if (policy_set_load(sandbox, &set, err) < 0)
		return NULL;
	policy = policy_set_compile(&set, err);
	if (!policy)
		return NULL;
	config = proxy_config_new(policy_allows_by_default(policy));
	for (size_t i = 0; i < set.count; i++)
		proxy_config_add(config, set.items[i].text, set.items[i].len);
	return json_dumps(config, JSON_INDENT(2));
}

int proxy_file_update(const struct sandbox *sandbox, enum proxy_file_when when,
		      struct error *err)
{
	AUTO_CLOSE int home = open_home(err);
	AUTO_FREE char *path = xasprintf(SANDBOX_PATH, sandbox->record.name);
	unsigned flags = when == PROXY_FILE_MAKE ? TREE_MAKE_PARENTS : 0;
	struct error missing = { 0 };
	AUTO_CLOSE int folder = -1;
	AUTO_FREE char *text = NULL;
	const char *name;

	if (home < 0)
		return -1;
	folder = tree_open_parent(home, path, flags, &name, &missing);
	if (folder < 0 && when == PROXY_FILE_KEEP)
		return 0;
	if (folder < 0)
		return error_set(err, 0, "~/%s: %s", path, missing.text);
	if (when == PROXY_FILE_KEEP &&
	    faccessat(folder, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
	text = contents(sandbox, err);
	if (!text)
		return -1;
	if (fileio_replace(folder, name, text, strlen(text), 0600, 0, err) < 0)
		return error_prefix(err, "~/%s", path);
	return 0;
}

void proxy_file_remove(const char *name)
{
	AUTO_CLOSE int home = open_home(NULL);
	AUTO_FREE char *path = xasprintf(SANDBOX_PATH, name);
	AUTO_CLOSE int folder = -1;
	AUTO_CLOSE int parent = -1;
	const char *file, *last;

	if (home < 0)
		return;
	folder = tree_open_parent(home, path, 0, &file, NULL);
	if (folder < 0 || unlinkat(folder, file, 0) < 0)
		return;
	/* one that has something else in it stays */
	*strrchr(path, '/') = '\0';
	parent = tree_open_parent(home, path, 0, &last, NULL);
	if (parent >= 0)
		(void)unlinkat(parent, last, AT_REMOVEDIR);
}
