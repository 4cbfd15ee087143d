/* SPDX-License-Identifier: Apache-2.0 */
/*
 * changes.c - what a sandbox in overlay mode changed, frozen in its folder
 *
 * The folder of the host goes on living while the guest works over it. A
 * conflict is a file that was changed on both sides. The base is what the host
 * had when the guest had no version of its own: it is taken anew each time
 * before the guest is asked, and kept for the paths that the guest's answer
 * covers. In this order a change of the host that comes in between is seen as
 * one that came after the guest's.
 *
 * So is one that the guest saw before it made its own version: nobody notes
 * which version that was made of. overlayfs gives the copy the time of the
 * original, which the first write replaces; the copy's age is by the guest's
 * clock, and its content may come from a page cache that has not heard of the
 * host's edit yet; the server cannot tell the reads of a copy from others. A
 * conflict too many is seen, one too few costs the host its edit.
 */
#include "cli/changes.h"

#include <errno.h>
#include <fcntl.h>
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
#include "cli/changes_internal.h"
#include "cli/hidden.h"
#include "cli/share_path.h"
#include "cli/store.h"
#include "cli/stream.h"
#include "tree/tree_open.h"

#define FOLDER "changes"

AUTO_DEFINE(json, json_t *, json_decref)

static bool is_overlay(const struct sandbox_record *record, size_t at)
{
	struct stat st;

	return !strcmp(record->mode, "overlay") &&
	       !record->shares.items[at].read_only &&
	       stat(record->shares.items[at].host, &st) == 0 &&
	       S_ISDIR(st.st_mode);
}

void changes_name(char name[CHANGES_NAME_MAX], unsigned number,
		  const char *ending)
{
	text_format(name, CHANGES_NAME_MAX, "%u.%s", number, ending);
}

int changes_create_file(int folder, const char *name, struct error *err)
{
	int fd = openat(folder, name,
			O_RDWR | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
			0600);

	return fd < 0 ? error_set(err, errno, "%s", name) : fd;
}

static int open_root(const char *host, struct error *err)
{
	int fd = fileio_open_real(host, O_RDONLY | O_DIRECTORY);

	return fd < 0 ? tree_error(err, errno, host) : fd;
}

static int scan(int folder, unsigned number, const char *ending,
		const char *host, struct error *err)
{
	char name[CHANGES_NAME_MAX];
	AUTO_CLOSE int root = open_root(host, err);
	AUTO_CLOSE int fd = -1;

	if (root < 0)
		return -1;
	changes_name(name, number, ending);
	fd = changes_create_file(folder, name, err);
	if (fd < 0 || base_scan(root, fd, err) < 0)
		return error_prefix(err, "%s", host);
	return 0;
}

int changes_begin(const struct sandbox *sandbox, struct error *err)
{
	const struct sandbox_record *record = &sandbox->record;
	AUTO_CLOSE int folder = -1;

	for (size_t i = 0; i < record->shares.count; i++) {
		if (!is_overlay(record, i))
			continue;
		if (folder < 0) {
			(void)mkdirat(sandbox->folder, FOLDER, 0700);
			folder = openat(sandbox->folder, FOLDER,
					O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
						O_CLOEXEC);
		}
		if (folder < 0)
			return error_set(err, errno, FOLDER);
		if (scan(folder, (unsigned)i, "base",
			 record->shares.items[i].host, err) < 0)
			return -1;
	}
	return 0;
}

static int load_hidden(struct changes_share *one,
		       const struct sandbox_record *record, struct error *err)
{
	AUTO(json) json_t *patterns = hidden_of(record, one->number, err);
	json_t *line;
	size_t i;

	if (!patterns)
		return -1;
	json_array_foreach(
		patterns, i,
		line) if (hide_list_add(&one->hide, json_string_value(line)) <
			  0) return error_set(err, 0, "too many hidden paths");
	return 0;
}

static int add_share(struct changes *changes, size_t at, struct error *err)
{
	const struct sandbox_record *record = &changes->sandbox->record;
	const struct share_record *share = &record->shares.items[at];
	struct changes_share *one = &changes->shares[changes->count++];

	*one = (struct changes_share){
		.number = (unsigned)at,
		.share = share,
		.root = -1,
		.prefix = at ? xasprintf("%s/", share->host + 1) : xstrdup(""),
		.paths = xcalloc(1, sizeof(char *)),
		.set = CHANGE_SET_INIT,
	};
	one->root = open_root(share->host, err);
	return one->root < 0 ? -1 : load_hidden(one, record, err);
}

/* Relative to the current folder if that is shared, else to the workspace. */
static char *absolute_path(const struct changes *changes, const char *path)
{
	AUTO_FREE char *here = getcwd(NULL, 0), *joined = NULL;
	const char *from = changes->shares[0].share->host;

	for (size_t i = 0; here && i < changes->count; i++)
		if (share_path_within(here, changes->shares[i].share->host))
			from = here;
	joined = *path == '/' ? xstrdup(path) : xasprintf("%s/%s", from, path);
	return share_path_tidy(joined);
}

static int add_path(struct changes *changes, const char *path,
		    struct error *err)
{
	AUTO_FREE char *absolute = absolute_path(changes, path);
	struct changes_share *best = NULL;
	const char *rest;
	size_t count = 0;

	for (size_t i = 0; i < changes->count; i++) {
		struct changes_share *one = &changes->shares[i];

		if (share_path_within(absolute, one->share->host) &&
		    (!best ||
		     strlen(one->share->host) > strlen(best->share->host)))
			best = one;
	}
	if (!best)
		return tree_error(err, 0, path),
		       error_prefix(err, "not in a folder of this sandbox");
	rest = absolute + strlen(best->share->host);
	while (best->paths[count])
		count++;
	best->paths =
		xrealloc(best->paths, (count + 2) * sizeof(best->paths[0]));
	best->paths[count] = xstrdup(rest + strspn(rest, "/"));
	best->paths[count + 1] = NULL;
	best->wanted = true;
	return 0;
}

int changes_open(struct changes *changes, struct sandbox *sandbox,
		 const char *const *paths, struct error *err)
{
	const struct sandbox_record *record = &sandbox->record;

	*changes = CHANGES_INIT;
	changes->sandbox = sandbox;
	if (strcmp(record->mode, "overlay") != 0)
		return error_set(err, 0,
				 "%s is in %s mode: its changes are %s "
				 "(--workspace-mode overlay keeps them apart)",
				 record->name, record->mode,
				 strcmp(record->mode, "clone") == 0
					 ? "commits of its clone"
					 : "in the folder already");
	changes->folder =
		openat(sandbox->folder, FOLDER,
		       O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (changes->folder < 0)
		return error_set(err, errno, FOLDER);
	changes->lock =
		fileio_lock(changes->folder, "lock", FILEIO_LOCK_WAIT, err);
	if (changes->lock < 0)
		return -1;
	changes->shares =
		xcalloc(record->shares.count + 1, sizeof(*changes->shares));
	for (size_t i = 0; i < record->shares.count; i++)
		if (is_overlay(record, i) && add_share(changes, i, err) < 0)
			return -1;
	if (!changes->count)
		return error_set(err, 0, "%s has no folder to change",
				 record->name);
	for (size_t i = 0; paths[i]; i++)
		if (add_path(changes, paths[i], err) < 0)
			return -1;
	for (size_t i = 0; !paths[0] && i < changes->count; i++)
		changes->shares[i].wanted = true;
	return 0;
}

static void forget_loaded(struct changes_share *one)
{
	change_list_release(&one->list);
	base_list_release(&one->base);
	change_set_release(&one->set);
}

void changes_close(struct changes *changes)
{
	for (size_t i = 0; i < changes->count; i++) {
		struct changes_share *one = &changes->shares[i];

		forget_loaded(one);
		hide_list_release(&one->hide);
		for (size_t j = 0; one->paths[j]; j++)
			free((char *)one->paths[j]);
		free(one->paths);
		free(one->prefix);
		if (one->root >= 0)
			close(one->root);
	}
	free(changes->shares);
	guard_list_release(&changes->guard);
	if (changes->lock >= 0)
		close(changes->lock);
	if (changes->folder >= 0)
		close(changes->folder);
	*changes = CHANGES_INIT;
}

/* Leaves NUMBER.new, which was checked, and its set in one->set. */
static int fetch(struct changes *changes, struct changes_share *one,
		 struct error *err)
{
	AUTO_STREAM struct stream stream = STREAM_INIT;
	char number[16], name[CHANGES_NAME_MAX];
	const char *args[] = { "changes", number, NULL };
	AUTO_CLOSE int fd = -1;

	text_format(number, sizeof(number), "%u", one->number);
	changes_name(name, one->number, "new");
	fd = changes_create_file(changes->folder, name, err);
	if (fd < 0 || stream_open(&stream, changes->sandbox, args, err) < 0 ||
	    changes_receive(&stream, fd, err) < 0)
		return -1;
	return change_set_load(&one->set, TAKE_FD(fd), err);
}

static int rename_file(const struct changes *changes, unsigned number,
		       const char *from, const char *to, struct error *err)
{
	char old_name[CHANGES_NAME_MAX], new_name[CHANGES_NAME_MAX];

	changes_name(old_name, number, from);
	changes_name(new_name, number, to);
	if (renameat(changes->folder, old_name, changes->folder, new_name) < 0)
		return error_set(err, errno, "%s", new_name);
	return 0;
}

static int freeze_one(struct changes *changes, struct changes_share *one,
		      struct error *err)
{
	AUTO_BASE_LIST struct base_list same = { NULL, 0 };
	struct change_context context = { .set = &one->set,
					  .root = one->root,
					  .base = &one->base,
					  .hide = &one->hide,
					  .same = &same };
	char name[CHANGES_NAME_MAX];
	int result;

	forget_loaded(one);
	if (scan(changes->folder, one->number, "scan", one->share->host, err) <
		    0 ||
	    fetch(changes, one, err) < 0 ||
	    changes_load_base(changes, one, err) < 0 ||
	    change_list_make(&context, &one->list, err) < 0)
		return -1;
	base_list_sort(&same);
	if (changes_merge_base(changes, one, &same, err) < 0)
		return -1;
	/* the base last: an old one only finds more conflicts */
	result = rename_file(changes, one->number, "new", "tar", err);
	if (result == 0)
		result = rename_file(changes, one->number, "merged", "base",
				     err);
	changes_name(name, one->number, "scan");
	unlinkat(changes->folder, name, 0);
	forget_loaded(one);
	return result;
}

int changes_freeze(struct changes *changes, struct error *err)
{
	for (size_t i = 0; i < changes->count; i++)
		if (freeze_one(changes, &changes->shares[i], err) < 0)
			return -1;
	return 0;
}

static int load_one(struct changes *changes, struct changes_share *one,
		    struct error *err)
{
	struct change_context context = { .set = &one->set,
					  .root = one->root,
					  .base = &one->base,
					  .hide = &one->hide };
	char name[CHANGES_NAME_MAX];
	int fd;

	changes_name(name, one->number, "tar");
	fd = openat(changes->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return error_set(err, errno, "%s", name);
	if (change_set_load(&one->set, fd, err) < 0 ||
	    changes_load_base(changes, one, err) < 0 ||
	    change_list_make(&context, &one->list, err) < 0)
		return -1;
	changes_mark_held(changes, one);
	change_list_select(&one->list, one->paths);
	return 0;
}

int changes_load(struct changes *changes, struct error *err)
{
	if (changes_load_guard(changes, err) < 0)
		return -1;
	for (size_t i = 0; i < changes->count; i++)
		if (changes->shares[i].wanted &&
		    load_one(changes, &changes->shares[i], err) < 0)
			return -1;
	return 0;
}

void changes_forget(struct changes *changes)
{
	char name[CHANGES_NAME_MAX];

	for (size_t i = 0; i < changes->count; i++) {
		changes_name(name, changes->shares[i].number, "tar");
		unlinkat(changes->folder, name, 0);
	}
}

int changes_look(const struct changes *changes, const struct changes_share *one,
		 struct error *err)
{
	return scan(changes->folder, one->number, "scan", one->share->host,
		    err);
}

int changes_rebase(const struct changes *changes,
		   const struct changes_share *one, struct error *err)
{
	return rename_file(changes, one->number, "scan", "base", err);
}

size_t changes_count(const struct changes *changes)
{
	size_t count = 0;

	for (size_t i = 0; i < changes->count; i++)
		count += changes->shares[i].list.count;
	return count;
}
