/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_diff.c - diff: what a sandbox in overlay mode changed
 */
#include "cli/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "changes/diff_note.h"
#include "cli/changes.h"
#include "cli/print.h"
#include "cli/store.h"
#include "cli/stream.h"

#define BAR_CELLS 40

AUTO_DEFINE(json, json_t *, json_decref)

struct totals {
	size_t files, removed, added, conflicts, held, widest;
};

/* Called with each change in turn; see each_change(). */
struct visit {
	const struct diff_source *source;
	const struct change *change;
	struct diff_stat stat;
	struct totals *totals;
	json_t *list;
};

typedef int visit_fn(struct visit *visit, struct error *err);

static int each_change(const struct changes *changes, visit_fn *visit,
		       struct totals *totals, json_t *list, struct error *err)
{
	for (size_t i = 0; i < changes->count; i++) {
		const struct changes_share *one = &changes->shares[i];
		struct diff_source source = { .root = one->root,
					      .set = one->set.fd,
					      .prefix = one->prefix,
					      .terminal = isatty(1) };

		for (size_t j = 0; j < one->list.count; j++) {
			struct visit now = { .source = &source,
					     .change = &one->list.changes[j],
					     .totals = totals,
					     .list = list };

			if (visit(&now, err) < 0)
				return -1;
		}
	}
	return 0;
}

static int print_text(struct visit *visit, struct error *err)
{
	return diff_text_print(visit->source, visit->change, stdout, NULL, err);
}

static int print_name(struct visit *visit, struct error *err)
{
	AUTO_FREE char *name =
		diff_text_quote(visit->source->prefix, visit->change->path);

	puts(name);
	return 0;
}

static bool is_folder(const struct change *change)
{
	return S_ISDIR(change->entry ? change->entry->mode
				     : change->host.st_mode);
}

static int measure(struct visit *visit, struct error *err)
{
	AUTO_FREE char *name =
		diff_text_quote(visit->source->prefix, visit->change->path);
	size_t width = strlen(name);

	if (width > visit->totals->widest)
		visit->totals->widest = width < 100 ? width : 100;
	return 0;
}

static void print_bar(size_t added, size_t removed)
{
	size_t all = added + removed;

	if (all > BAR_CELLS) {
		/* at least one cell for each side that has something */
		added = added ? 1 + added * (BAR_CELLS - 2) / all : 0;
		removed = removed ? 1 + removed * (BAR_CELLS - 2) / all : 0;
	}
	for (size_t i = 0; i < added; i++)
		putchar('+');
	for (size_t i = 0; i < removed; i++)
		putchar('-');
}

static void count_attribute(void *ctx, const struct tar_xattr *old_one,
			    const struct tar_xattr *new_one)
{
	(*(size_t *)ctx)++;
}

/* What it is besides other lines, in brackets. */
static void print_kinds(const struct visit *visit)
{
	const struct change *change = visit->change;
	size_t attributes = 0;

	diff_note_attributes(visit->source, change, count_attribute,
			     &attributes);
	if (change->kind != CHANGE_MODIFIED)
		printf(" (%s)", change_kind_names[change->kind]);
	if (attributes && change->kind != CHANGE_ATTRIBUTES)
		printf(" (%s)", change_kind_names[CHANGE_ATTRIBUTES]);
	if (change->held)
		printf(" (held)");
	if (change->conflict)
		printf(" (conflict: %s)", change->conflict);
	putchar('\n');
}

static int print_stat(struct visit *visit, struct error *err)
{
	const struct change *change = visit->change;
	struct diff_stat stat;
	AUTO_FREE char *name =
		diff_text_quote(visit->source->prefix, change->path);

	if (diff_text_print(visit->source, change, NULL, &stat, err) < 0)
		return -1;
	printf(" %-*s | ", (int)visit->totals->widest, name);
	if (is_folder(change))
		printf("folder");
	else if (stat.binary)
		printf("Bin %llu -> %llu bytes",
		       (unsigned long long)stat.old_size,
		       (unsigned long long)stat.new_size);
	else
		printf("%zu ", stat.added + stat.removed);
	print_bar(stat.added, stat.removed);
	print_kinds(visit);
	visit->totals->files++;
	visit->totals->added += stat.added;
	visit->totals->removed += stat.removed;
	return 0;
}

static json_t *mode_json(mode_t mode)
{
	char text[16];

	text_format(text, sizeof(text), "%06o", mode & (S_IFMT | 0777));
	return json_string(text);
}

/* One that is not UTF-8 as git quotes it. */
static json_t *name_json(const char *prefix, const char *name)
{
	AUTO_FREE char *quoted = diff_text_quote(prefix, name);
	json_t *plain = json_sprintf("%s%s", prefix, name);

	return plain ? plain : json_string(quoted);
}

static void add_attribute(void *ctx, const struct tar_xattr *old_one,
			  const struct tar_xattr *new_one)
{
	json_array_append_new(
		ctx, name_json("", (new_one ? new_one : old_one)->name));
}

static int add_json(struct visit *visit, struct error *err)
{
	const struct change *change = visit->change;
	const char *prefix = visit->source->prefix;
	AUTO(json) json_t *attributes = json_array();
	struct diff_stat stat;
	json_t *one;

	if (diff_text_print(visit->source, change, NULL, &stat, err) < 0)
		return -1;
	one = json_pack("{s:o, s:s, s:s*}", "path",
			name_json(prefix, change->path), "change",
			change_kind_names[change->kind], "conflict",
			change->conflict);
	diff_note_attributes(visit->source, change, add_attribute, attributes);
	json_object_set(one, "attributes", attributes);
	if (change->linked)
		json_object_set_new(one, "one_file_with",
				    name_json(prefix, change->linked));
	json_object_set_new(one, "held", json_boolean(change->held));
	json_object_set_new(one, "folder", json_boolean(is_folder(change)));
	if (change->kind != CHANGE_NEW)
		json_object_set_new(one, "old_mode",
				    mode_json(change->host.st_mode));
	if (change->entry)
		json_object_set_new(one, "new_mode",
				    mode_json(change->entry->mode));
	json_object_set_new(one, "binary", json_boolean(stat.binary));
	json_object_set_new(one, "added", json_integer((json_int_t)stat.added));
	json_object_set_new(one, "removed",
			    json_integer((json_int_t)stat.removed));
	return json_array_append_new(visit->list, one);
}

static int count_left_out(struct visit *visit, struct error *err)
{
	visit->totals->held += visit->change->held;
	visit->totals->conflicts += visit->change->conflict != NULL;
	return 0;
}

static int show_stat(const struct changes *changes, struct error *err)
{
	struct totals totals = { 0 };

	if (each_change(changes, measure, &totals, NULL, err) < 0 ||
	    each_change(changes, print_stat, &totals, NULL, err) < 0)
		return -1;
	if (totals.files)
		printf(" %zu changed, %zu insertions(+), %zu deletions(-)\n",
		       totals.files, totals.added, totals.removed);
	return 0;
}

static int show_json(const struct changes *changes, struct error *err)
{
	AUTO(json) json_t *list = json_array();

	if (each_change(changes, add_json, NULL, list, err) < 0)
		return -1;
	print_json(list);
	return 0;
}

static int show(const struct changes *changes, const struct options *options,
		struct error *err)
{
	struct totals totals = { 0 };

	if (options_flag(options, "json"))
		return show_json(changes, err);
	if (options_flag(options, "name-only"))
		return each_change(changes, print_name, NULL, NULL, err);
	if (options_flag(options, "stat")
		    ? show_stat(changes, err) < 0
		    : each_change(changes, print_text, NULL, NULL, err) < 0)
		return -1;
	each_change(changes, count_left_out, &totals, NULL, err);
	fflush(stdout);
	if (totals.conflicts)
		fprintf(stderr,
			"bawn: %zu in conflict with changes of the host: "
			"`bawn apply` leaves them out, -f overwrites\n",
			totals.conflicts);
	if (totals.held)
		fprintf(stderr,
			"bawn: %zu that tools of the host run or believe "
			"unasked: `bawn apply` leaves out those whose PATH is "
			"not given\n",
			totals.held);
	return 0;
}

static int run(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_CHANGES struct changes changes = CHANGES_INIT;

	if (sandbox_open(options->words[0], &sandbox, err) < 0 ||
	    changes_open(&changes, &sandbox, options->words + 1, err) < 0 ||
	    changes_freeze(&changes, err) < 0 ||
	    changes_load(&changes, err) < 0 || show(&changes, options, err) < 0)
		return stream_signal() ? 128 + stream_signal() : -1;
	return options_flag(options, "exit-code") &&
	       changes_count(&changes) > 0;
}

static const struct option_row rows[] = {
	{ "stat", '\0', OPTION_FLAG, NULL,
	  "how many lines of which files, not which", NULL, OPTION_HERE },
	{ "name-only", '\0', OPTION_FLAG, NULL, "names alone", NULL,
	  OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ "exit-code", '\0', OPTION_FLAG, NULL,
	  "end with 1 when there are changes", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_diff = {
	.name = "diff",
	.arguments = "NAME [PATH...]",
	.help = "show what a sandbox changed, and keep it for apply",
	.details = "For sandboxes in overlay mode. The output is what git "
		   "prints; what it shows is kept,\nand `bawn apply` writes "
		   "exactly that.",
	.options = rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = run,
};
