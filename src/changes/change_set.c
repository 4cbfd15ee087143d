/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_set.c - what a sandbox changed over a folder, frozen on the host
 */
#include "changes/change_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "tar/tar_read.h"
#include "tree/tree_open.h"

#define READ_BYTES (256u * 1024)

AUTO_DEFINE(reader, struct tar_reader *, tar_reader_free)

struct loader {
	struct change_set *set;
	size_t room;
	size_t attribute_bytes;
};

static struct set_entry *new_entry(struct loader *loader)
{
	struct change_set *set = loader->set;

	if (set->count == loader->room) {
		loader->room = loader->room * 2 + 64;
		set->entries = xrealloc(set->entries,
					loader->room * sizeof(*set->entries));
	}
	return &set->entries[set->count++];
}

static int take_attributes(struct loader *loader, struct set_entry *new,
			   const struct tar_entry *entry, struct error *err)
{
	if (S_ISLNK(entry->mode) || new->deleted || new->further)
		return 0;
	if (attributes_copy(&new->attributes, entry, err) < 0)
		return -1;
	loader->attribute_bytes += attributes_size(&new->attributes);
	if (loader->attribute_bytes <= CHANGE_SET_ATTRIBUTES_MAX)
		return 0;
	tree_error(err, 0, entry->path);
	return error_prefix(err, "more than %u MiB of attributes",
			    CHANGE_SET_ATTRIBUTES_MAX >> 20);
}

static int on_entry(void *ctx, const struct tar_entry *entry, struct error *err)
{
	struct loader *loader = ctx;
	struct set_entry *new;

	if (!S_ISREG(entry->mode) && !S_ISDIR(entry->mode) &&
	    !S_ISLNK(entry->mode))
		return tree_error(err, EPERM, entry->path);
	if (!entry->path[0]) {
		if (!S_ISDIR(entry->mode))
			return tree_error(err, ENOTDIR, entry->path);
		return 0;
	}
	new = new_entry(loader);
	*new = (struct set_entry){
		.path = xstrdup(entry->path),
		.target = entry->target ? xstrdup(entry->target) : NULL,
		.mode = entry->mode & (S_IFMT | 0777),
		.size = entry->size,
		.offset = entry->offset,
		.mtime = entry->mtime,
		.mtime_ns = entry->mtime_ns,
		.further = entry->hard_link,
	};
	if (entry->note && !strcmp(entry->note, TAR_NOTE_DELETED))
		new->deleted = true;
	else if (entry->note && !strcmp(entry->note, TAR_NOTE_OPAQUE))
		new->opaque = S_ISDIR(entry->mode);
	return take_attributes(loader, new, entry, err);
}

static int on_data(void *ctx, const void *bytes, size_t len, struct error *err)
{
	return 0;
}

static int on_end(void *ctx, struct error *err)
{
	return 0;
}

static int by_path(const void *a, const void *b)
{
	return strcmp(((const struct set_entry *)a)->path,
		      ((const struct set_entry *)b)->path);
}

const struct set_entry *change_set_find(const struct change_set *set,
					const char *path)
{
	const struct set_entry wanted = { .path = (char *)path };

	if (!set->count)
		return NULL;
	return bsearch(&wanted, set->entries, set->count, sizeof(wanted),
		       by_path);
}

/* Cuts the last part off; false when there was only one. */
static bool go_up(char *path)
{
	char *slash = strrchr(path, '/');

	if (!slash)
		return false;
	*slash = '\0';
	return true;
}

static int check(const struct change_set *set, struct error *err)
{
	for (size_t i = 0; i < set->count; i++) {
		const struct set_entry *entry = &set->entries[i], *parent;
		AUTO_FREE char *path = xstrdup(entry->path);

		if (i && !strcmp(entry->path, entry[-1].path))
			return tree_error(err, EEXIST, entry->path);
		if (!go_up(path))
			continue;
		parent = change_set_find(set, path);
		if (!parent || parent->deleted || !S_ISDIR(parent->mode))
			return tree_error(err, ENOTDIR, entry->path);
	}
	return 0;
}

/* A further name is all that its file is but the path. */
static int follow(const struct change_set *set, struct set_entry *name,
		  struct error *err)
{
	struct set_entry *file =
		(struct set_entry *)change_set_find(set, name->target);
	struct set_entry was = *name;

	if (!file || file->further || file->deleted || was.deleted ||
	    !S_ISREG(file->mode))
		return tree_error(err, EPERM, name->path);
	free(was.target);
	file->linked = true;
	*name = *file;
	name->path = was.path;
	name->further = true;
	return 0;
}

static int by_offset(const void *a, const void *b)
{
	const struct set_entry *x = *(struct set_entry *const *)a;
	const struct set_entry *y = *(struct set_entry *const *)b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return strcmp(x->path, y->path);
}

static int find_links(struct change_set *set, struct error *err)
{
	size_t count = 0;

	for (size_t i = 0; i < set->count; i++)
		if (set->entries[i].further &&
		    follow(set, &set->entries[i], err) < 0)
			return -1;
	for (size_t i = 0; i < set->count; i++)
		count += set->entries[i].linked;
	if (!count)
		return 0;
	set->links = xcalloc(count, sizeof(*set->links));
	for (size_t i = 0; i < set->count; i++)
		if (set->entries[i].linked)
			set->links[set->link_count++] = &set->entries[i];
	qsort(set->links, count, sizeof(*set->links), by_offset);
	return 0;
}

const struct set_entry *const *change_set_names(const struct change_set *set,
						const struct set_entry *entry,
						size_t *count)
{
	size_t low = 0, high = set->link_count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (set->links[middle]->offset < entry->offset)
			low = middle + 1;
		else
			high = middle;
	}
	while (high < set->link_count &&
	       set->links[high]->offset == entry->offset)
		high++;
	*count = high - low;
	return set->links + low;
}

static int read_archive(struct change_set *set, struct error *err)
{
	struct loader loader = { .set = set };
	struct tar_limits limits = { CHANGE_SET_ENTRIES_MAX, INT64_MAX };
	struct tar_events events = { on_entry, on_data, on_end, &loader };
	AUTO(reader)
	struct tar_reader *reader = tar_reader_new(&limits, &events);
	AUTO_FREE uint8_t *bytes = xmalloc(READ_BYTES);
	off_t at = 0;

	for (;;) {
		ssize_t got = pread(set->fd, bytes, READ_BYTES, at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_set(err, errno, "read");
		if (!got)
			return tar_reader_finish(reader, err);
		if (tar_reader_feed(reader, bytes, (size_t)got, err) < 0)
			return -1;
		at += got;
	}
}

int change_set_load(struct change_set *set, int fd, struct error *err)
{
	*set = (struct change_set){ .fd = fd };
	if (read_archive(set, err) < 0)
		return error_prefix(err, "set of changes");
	if (set->count)
		qsort(set->entries, set->count, sizeof(*set->entries), by_path);
	if (check(set, err) < 0 || find_links(set, err) < 0)
		return error_prefix(err, "set of changes");
	return 0;
}

void change_set_release(struct change_set *set)
{
	for (size_t i = 0; i < set->count; i++) {
		free(set->entries[i].path);
		free(set->entries[i].target);
		if (!set->entries[i].further)
			attributes_release(&set->entries[i].attributes);
	}
	free(set->entries);
	free(set->links);
	if (set->fd >= 0)
		close(set->fd);
	*set = CHANGE_SET_INIT;
}

/* Hides what the host has beneath it. */
static bool hides(const struct set_entry *entry)
{
	return entry->deleted || entry->opaque || !S_ISDIR(entry->mode);
}

bool change_set_covers(const struct change_set *set, const char *path)
{
	AUTO_FREE char *at = xstrdup(path);

	do {
		const struct set_entry *entry = change_set_find(set, at);

		if (entry && hides(entry))
			return true;
	} while (go_up(at));
	return false;
}
