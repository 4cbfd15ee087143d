/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_note.c - what git's format cannot say of a change
 */
#include "changes/diff_note.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "changes/attributes.h"
#include "changes/change_guard.h"
#include "changes/change_list.h"
#include "changes/change_set.h"
#include "changes/diff_text.h"
#include "tree/tree_open.h"

/* Longer values are said to be so long. */
#define VALUE_SHOWN 64

struct noting {
	FILE *out;
	const char *file; /* quoted */
};

/* The host's; a new file has none, and what it replaces does not count. */
static void read_host(const struct diff_source *source,
		      const struct change *change,
		      struct attributes *attributes)
{
	const char *name;
	AUTO_CLOSE int at = -1;

	if (change->kind == CHANGE_NEW)
		return;
	at = tree_open_parent(source->root, change->path, 0, &name, NULL);
	if (at >= 0)
		attributes_read(attributes, at, name);
}

void diff_note_attributes(const struct diff_source *source,
			  const struct change *change,
			  void (*differs)(void *ctx,
					  const struct tar_xattr *old_one,
					  const struct tar_xattr *new_one),
			  void *ctx)
{
	AUTO_ATTRIBUTES struct attributes was = { NULL, 0 };
	const struct attributes *now;

	if (!change->entry || S_ISLNK(change->entry->mode))
		return;
	now = &change->entry->attributes;
	read_host(source, change, &was);
	for (size_t i = 0; i < now->count; i++) {
		const struct tar_xattr *one = &now->items[i];
		const struct tar_xattr *old_one =
			attributes_find(&was, one->name);

		if (!attributes_same_value(old_one, one))
			differs(ctx, old_one, one);
	}
	for (size_t i = 0; i < was.count; i++)
		if (!attributes_find(now, was.items[i].name))
			differs(ctx, &was.items[i], NULL);
}

/* As git quotes a name, so that nothing moves a cursor. */
static char *value_text(const struct tar_xattr *one)
{
	AUTO_FREE char *text = NULL, *quoted = NULL;

	if (!one)
		return xstrdup("none");
	if (one->len > VALUE_SHOWN || memchr(one->value, '\0', one->len))
		return xasprintf("%zu bytes", one->len);
	text = xstrndup(one->value, one->len);
	quoted = diff_text_quote("", text);
	return *quoted == '"' ? TAKE_PTR(quoted) : xasprintf("\"%s\"", quoted);
}

static void print_attribute(void *ctx, const struct tar_xattr *old_one,
			    const struct tar_xattr *new_one)
{
	const struct noting *noting = ctx;
	AUTO_FREE char *name =
		diff_text_quote("", (new_one ? new_one : old_one)->name);
	AUTO_FREE char *old_text = value_text(old_one);
	AUTO_FREE char *new_text = value_text(new_one);

	fprintf(noting->out, "# attribute %s of %s: %s, was %s\n", name,
		noting->file, new_text, old_text);
}

static void print_mode(const struct change *change, const char *name, FILE *out)
{
	mode_t old_mode = change->host.st_mode & 0777;
	mode_t new_mode = change->entry ? change->entry->mode & 0777 : 0;

	if (change->kind != CHANGE_NEW && change->entry &&
	    !S_ISLNK(change->entry->mode) && old_mode != new_mode)
		fprintf(out, "# mode of %s: %04o, was %04o\n", name, new_mode,
			old_mode);
}

void diff_note_print(const struct diff_source *source,
		     const struct change *change, FILE *out)
{
	AUTO_FREE char *name = diff_text_quote(source->prefix, change->path);
	struct noting noting = { out, name };

	if (change->held)
		fprintf(out, "# held: %s: %s\n", name, CHANGE_GUARD_REASON);
	if (change->conflict)
		fprintf(out, "# conflict: %s: %s\n", name, change->conflict);
	print_mode(change, name, out);
	diff_note_attributes(source, change, print_attribute, &noting);
	if (change->linked) {
		AUTO_FREE char *other =
			diff_text_quote(source->prefix, change->linked);

		fprintf(out, "# one file: %s and %s\n", name, other);
	}
}
