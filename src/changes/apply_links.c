/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_links.c - names of one file that stay names of one file
 */
#include "changes/apply_links.h"

#include <search.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/own.h"
#include "changes/change_apply.h"
#include "changes/change_set.h"
#include "changes/entry_same.h"
#include "tree/tree_open.h"
#include "tree/tree_write.h"

struct file {
	uint64_t offset;  /* which file of the set it is */
	const char *path; /* of the set; NULL: the host has it under no name */
};

struct apply_links {
	const struct apply_setup *setup;
	struct tree_writer *writer; /* borrowed */
	void *files;                /* owned: tsearch() of struct file */
};

struct apply_links *apply_links_new(const struct apply_setup *setup,
				    struct tree_writer *writer)
{
	struct apply_links *links = xcalloc(1, sizeof(*links));

	links->setup = setup;
	links->writer = writer;
	return links;
}

void apply_links_free(struct apply_links *links)
{
	tdestroy(links->files, free);
	free(links);
}

static int by_offset(const void *a, const void *b)
{
	const struct file *x = a, *y = b;

	return x->offset == y->offset ? 0 : x->offset < y->offset ? -1 : 1;
}

static bool may_lead_to(const struct apply_links *links,
			const struct set_entry *name)
{
	const struct apply_setup *setup = links->setup;

	return !setup->may_link || setup->may_link(setup->ctx, name->path);
}

/* The first name under which the host has the guest's file. */
static const char *look(const struct apply_links *links,
			const struct set_entry *entry)
{
	const struct change_set *set = links->setup->set;
	size_t count;
	const struct set_entry *const *names =
		change_set_names(set, entry, &count);

	for (size_t i = 0; i < count; i++) {
		const char *name;
		AUTO_CLOSE int at = -1;
		struct stat st;

		if (names[i] == entry || !may_lead_to(links, names[i]))
			continue;
		at = tree_open_parent(links->setup->root, names[i]->path, 0,
				      &name, NULL);
		if (at < 0 || !entry_same_file(set, entry, at, name, &st))
			continue;
		tree_writer_adopt(links->writer, names[i]->path, &st);
		return names[i]->path;
	}
	return NULL;
}

static struct file *find(struct apply_links *links,
			 const struct set_entry *entry, bool *known)
{
	struct file *new = xcalloc(1, sizeof(*new)), **found;

	new->offset = entry->offset;
	found = tsearch(new, &links->files, by_offset);
	if (!found)
		abort();
	*known = *found != new;
	if (*known)
		free(new);
	return *found;
}

const char *apply_links_find(struct apply_links *links,
			     const struct set_entry *entry)
{
	struct file *file;
	bool known;

	if (!entry->linked || !may_lead_to(links, entry))
		return NULL;
	file = find(links, entry, &known);
	if (!known)
		file->path = look(links, entry);
	return file->path;
}

void apply_links_made(struct apply_links *links, const struct set_entry *entry)
{
	bool known;

	if (entry->linked && may_lead_to(links, entry))
		find(links, entry, &known)->path = entry->path;
}
