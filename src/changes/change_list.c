/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_list.c - what applying a set of changes would do to the host's folder
 *
 * The set is the upper folder of an overlay: it has a copy of each file that
 * the guest opened for writing, whether it differs or not, and all folders
 * above it. So everything is compared with the host.
 */
#include "changes/change_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/hide_pattern.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "changes/base_file.h"
#include "changes/change_set.h"
#include "changes/entry_same.h"
#include "tree/tree_open.h"

#define CHANGES_MAX 1000000
#define DEPTH_MAX 512

AUTO_DEFINE(dir, DIR *, closedir)

const char *const change_kind_names[] = {
	[CHANGE_DELETED] = "deleted",   [CHANGE_NEW] = "new",
	[CHANGE_MODIFIED] = "modified", [CHANGE_ATTRIBUTES] = "attributes",
	[CHANGE_MODE] = "mode",
};
_Static_assert(sizeof(change_kind_names) / sizeof(char *) == CHANGE_KINDS,
	       "each kind has a name");

struct maker {
	const struct change_context *context;
	struct change_list *list;
	unsigned depth;
	struct error *err;
};

void change_list_release(struct change_list *list)
{
	for (size_t i = 0; i < list->count; i++)
		free(list->changes[i].path);
	free(list->changes);
	*list = (struct change_list){ NULL, 0, 0 };
}

static bool is_hidden(const struct maker *maker, const char *path, mode_t mode)
{
	return hide_list_matches(maker->context->hide, path,
				 S_ISDIR(mode) ? HIDE_FOLDER : HIDE_FILE);
}

/* Why the host's file is not the one that the guest's change stands on. */
static const char *conflict_of(const struct maker *maker, const char *path,
			       const struct stat *host, mode_t mode)
{
	const struct base_record *base =
		base_list_find(maker->context->base, BASE_HOST, path);
	AUTO_CLOSE int at = -1;
	struct base_record now;
	const char *name;

	if (is_hidden(maker, path, mode))
		return "hidden from the sandbox";
	if (!host)
		return base ? "deleted on the host meanwhile" : NULL;
	if (!base)
		return "made on the host meanwhile";
	at = tree_open_parent(maker->context->root, path, 0, &name, NULL);
	base_record_of_host(&now, path, at, host);
	return base_record_same(base, &now) ? NULL
					    : "changed on the host meanwhile";
}

/* The first other name that the guest's file has. */
static const char *other_name(const struct maker *maker,
			      const struct set_entry *entry)
{
	const struct set_entry *const *names;
	size_t count;

	if (!entry || !entry->linked)
		return NULL;
	names = change_set_names(maker->context->set, entry, &count);
	return count < 2 ? NULL : names[names[0] == entry]->path;
}

static int add(struct maker *maker, enum change_kind kind, const char *path,
	       const struct set_entry *entry, const struct stat *host)
{
	struct change_list *list = maker->list;
	mode_t mode = entry ? entry->mode : host->st_mode;
	struct change *change;

	if (list->count == CHANGES_MAX)
		return error_set(maker->err, 0, "more than %d changes",
				 CHANGES_MAX);
	if (list->count == list->room) {
		list->room = list->room * 2 + 64;
		list->changes = xrealloc(list->changes,
					 list->room * sizeof(*list->changes));
	}
	change = &list->changes[list->count++];
	*change = (struct change){
		.kind = kind,
		.path = xstrdup(path),
		.entry = entry,
		.conflict = conflict_of(maker, path, host, mode),
		.linked = other_name(maker, entry),
	};
	if (host)
		change->host = *host;
	return 0;
}

static int delete_tree(struct maker *maker, int at, const char *name,
		       const char *path, const struct stat *st);

/*
 * What the host has in a folder; with keep, what the set has stays. 1 when
 * something stays that the guest could not see, and the folder with it.
 */
static int delete_children(struct maker *maker, int at, const char *name,
			   const char *path, bool keep)
{
	AUTO_CLOSE int fd = tree_open(at, name, O_RDONLY | O_DIRECTORY);
	AUTO(dir) DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *child;
	int result = 0, stays = 0, folder;

	if (!dir)
		return tree_error(maker->err, errno, path);
	folder = TAKE_FD(fd);
	if (maker->depth++ == DEPTH_MAX)
		return tree_error(maker->err, ENAMETOOLONG, path);
	while (result >= 0 && (child = readdir(dir))) {
		AUTO_FREE char *below = NULL;
		struct stat st;

		if (!strcmp(child->d_name, ".") || !strcmp(child->d_name, ".."))
			continue;
		below = xasprintf("%s/%s", path, child->d_name);
		if (keep && change_set_find(maker->context->set, below))
			continue;
		if (fstatat(folder, child->d_name, &st, AT_SYMLINK_NOFOLLOW) <
		    0)
			continue;
		/* what the guest could not see it has not deleted */
		result = is_hidden(maker, below, st.st_mode)
				 ? 1
				 : delete_tree(maker, folder, child->d_name,
					       below, &st);
		stays |= result > 0;
	}
	maker->depth--;
	return result < 0 ? -1 : stays;
}

/* As delete_children(). */
static int delete_tree(struct maker *maker, int at, const char *name,
		       const char *path, const struct stat *st)
{
	int stays = S_ISDIR(st->st_mode)
			    ? delete_children(maker, at, name, path, false)
			    : 0;

	if (stays)
		return stays;
	return add(maker, CHANGE_DELETED, path, NULL, st);
}

static void note_same(const struct maker *maker, const struct set_entry *entry)
{
	struct base_record record;

	if (!maker->context->same || S_ISDIR(entry->mode))
		return;
	base_record_of_entry(&record, entry);
	base_list_add(maker->context->same, &record);
}

/* Both are of the same type. */
static int compare(struct maker *maker, int at, const char *name,
		   const struct set_entry *entry, const struct stat *host)
{
	enum change_kind kind = CHANGE_KINDS;

	if (S_ISREG(entry->mode) &&
	    ((uint64_t)host->st_size != entry->size ||
	     !entry_same_content(maker->context->set, entry, at, name)))
		kind = CHANGE_MODIFIED;
	else if (S_ISLNK(entry->mode) && !entry_same_target(entry, at, name))
		kind = CHANGE_MODIFIED;
	else if (!entry_same_attributes(entry, at, name))
		kind = CHANGE_ATTRIBUTES;
	else if (!S_ISLNK(entry->mode) &&
		 ((host->st_mode ^ entry->mode) & 0777) != 0)
		kind = CHANGE_MODE;
	else
		note_same(maker, entry);
	if (kind != CHANGE_KINDS &&
	    add(maker, kind, entry->path, entry, host) < 0)
		return -1;
	if (S_ISDIR(entry->mode) &&
	    change_set_covers(maker->context->set, entry->path))
		return delete_children(maker, at, name, entry->path, true) < 0
			       ? -1
			       : 0;
	return 0;
}

static int take_entry(struct maker *maker, const struct set_entry *entry)
{
	struct base_record now;
	const struct base_record *applied =
		base_list_find(maker->context->base, BASE_APPLIED, entry->path);
	const char *name;
	AUTO_CLOSE int at = tree_open_parent(maker->context->root, entry->path,
					     0, &name, NULL);
	struct stat st;
	bool there =
		at >= 0 && fstatat(at, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	int stays = 0;

	base_record_of_entry(&now, entry);
	/* it was applied, and the guest has not touched it since */
	if (applied && base_record_same(applied, &now) && !S_ISDIR(entry->mode))
		return 0;
	if (there && !entry->deleted &&
	    (st.st_mode & S_IFMT) == (entry->mode & S_IFMT))
		return compare(maker, at, name, entry, &st);
	if (there)
		stays = delete_tree(maker, at, name, entry->path, &st);
	if (stays < 0 || entry->deleted)
		return stays < 0 ? -1 : 0;
	if (add(maker, CHANGE_NEW, entry->path, entry, there ? &st : NULL) < 0)
		return -1;
	if (stays)
		maker->list->changes[maker->list->count - 1].conflict =
			"in the place of a folder with hidden files";
	return 0;
}

static int by_path(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int order = strcmp(x->path, y->path);

	return order ? order : (int)x->kind - (int)y->kind;
}

/* The change that makes this folder of something else, or NULL. */
static const struct change *makes_folder(const struct change_list *list,
					 const char *path)
{
	struct change wanted = { .path = (char *)path, .kind = CHANGE_NEW };
	const struct change *found =
		list->count ? bsearch(&wanted, list->changes, list->count,
				      sizeof(wanted), by_path)
			    : NULL;

	return found && S_ISDIR(found->entry->mode) ? found : NULL;
}

/* What is to lie in a folder that is left out has no place. */
static void inherit_conflicts(struct change_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct change *change = &list->changes[i];
		AUTO_FREE char *above = xstrdup(change->path);
		char *slash;

		while (!change->conflict && (slash = strrchr(above, '/'))) {
			const struct change *folder;

			*slash = '\0';
			folder = makes_folder(list, above);
			if (folder && folder->conflict)
				change->conflict =
					"in a folder that is in conflict";
		}
	}
}

int change_list_make(const struct change_context *context,
		     struct change_list *list, struct error *err)
{
	struct maker maker = { .context = context, .list = list, .err = err };

	*list = (struct change_list){ NULL, 0, 0 };
	for (size_t i = 0; i < context->set->count; i++)
		if (take_entry(&maker, &context->set->entries[i]) < 0)
			return -1;
	if (list->count)
		qsort(list->changes, list->count, sizeof(*list->changes),
		      by_path);
	inherit_conflicts(list);
	return 0;
}

static bool is_within(const char *path, const char *folder)
{
	return !*folder || text_is_within(path, folder);
}

void change_list_select(struct change_list *list, const char *const *paths)
{
	size_t kept = 0;

	if (!paths[0])
		return;
	for (size_t i = 0; i < list->count; i++) {
		bool wanted = false;

		for (size_t j = 0; paths[j]; j++)
			wanted |= is_within(list->changes[i].path, paths[j]);
		if (wanted)
			list->changes[kept++] = list->changes[i];
		else
			free(list->changes[i].path);
	}
	list->count = kept;
}
