/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_checkpoint.c - checkpoint, checkpoint ls, checkpoint rm, restore
 */
#include "cli/command.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/checkpoint_keep.h"
#include "cli/checkpoint_prune.h"
#include "cli/halt.h"
#include "cli/print.h"
#include "cli/start.h"
#include "cli/store.h"
#include "cli/table.h"
#include "loop/duration.h"

extern char **environ;

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(table, struct table *, table_free)

static int lock(const struct sandbox *sandbox, struct error *err)
{
	return fileio_lock(sandbox->folder, STORE_LOCK_FILE, FILEIO_LOCK_WAIT,
			   err);
}

static void say_dropped(void *ctx, const struct sandbox *sandbox,
			const char *label, uint64_t bytes)
{
	char size[32];

	text_from_size(bytes, size, sizeof(size));
	if (label)
		fprintf(stderr, "bawn: dropped checkpoint %s, %s\n", label,
			size);
	else
		fprintf(stderr, "bawn: removed half of a checkpoint, %s\n",
			size);
}

static int set_keep(const struct sandbox *sandbox, const char *text,
		    struct error *err)
{
	struct checkpoint_keep keep;

	if (!text)
		return 0;
	checkpoint_keep_load(sandbox->folder, &keep);
	if (checkpoint_keep_parse(text, &keep, err) < 0)
		return error_prefix(err, "--keep");
	return checkpoint_keep_save(sandbox->folder, &keep, err);
}

static int make(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	const struct checkpoint_wish wish = {
		.label = options->word_count > 1 ? options->words[1] : NULL,
	};
	struct checkpoint_made made = { 0 };
	AUTO_CLOSE int held = -1;

	if (sandbox_open(options->words[0], &sandbox, err) < 0)
		return -1;
	held = lock(&sandbox, err);
	if (held < 0 ||
	    set_keep(&sandbox, options_value(options, "keep"), err) < 0 ||
	    checkpoint_make(&sandbox, &wish, &made, err) < 0)
		return error_prefix(err, "checkpoint of %s", options->words[0]);
	printf("%s\n", made.label);
	if (checkpoint_prune(&sandbox, CHECKPOINT_PRUNE, say_dropped, NULL,
			     err) < 0)
		fprintf(stderr, "bawn: %s\n", err->text);
	return 0;
}

static const struct option_row no_rows[] = {
	{ .name = NULL },
};

static const struct option_row make_rows[] = {
	{ "keep", '\0', OPTION_VALUE, "N,SIZE",
	  "from now on keep so many unnamed ones, and so much (10,20G)", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_checkpoint = {
	.name = "checkpoint",
	.arguments = "NAME [LABEL]",
	.help = "keep a sandbox's memory and disk as they are now",
	.details = "`bawn checkpoint ls NAME` lists what is kept, `checkpoint "
		   "rm NAME LABEL` removes it;\n`bawn restore NAME LABEL` goes "
		   "back, `bawn fork NAME --from LABEL` starts others there.",
	.options = make_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 2,
	.failure_code = 1,
	.run = make,
};

/* Of that name, and not a later one that has it by now. */
static bool has_parent(const struct checkpoint *all, size_t count,
		       const struct checkpoint *one)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(all[i].label, one->parent) &&
		    all[i].created <= one->created)
			return true;
	}
	return false;
}

static void add_parent(struct table *table, const struct checkpoint *all,
		       size_t count, const struct checkpoint *one)
{
	char text[CHECKPOINT_LABEL_MAX + 32];

	text_format(text, sizeof(text), "%s%s", one->parent,
		    !one->parent[0] || has_parent(all, count, one)
			    ? ""
			    : " (removed)");
	table_cell(table, text);
}

static void add_row(struct table *table, const struct checkpoint *one)
{
	char text[64];

	table_cell(table, one->label);
	text_from_size(one->bytes, text, sizeof(text));
	table_cell(table, text);
	duration_text(difftime(time(NULL), one->created), text, sizeof(text));
	table_cell(table, text);
	table_cell(table, one->memory ? "memory, disk" : "disk");
}

static json_t *row_json(const struct checkpoint *one)
{
	char created[64];

	table_time(one->created, created, sizeof(created));
	return json_pack("{s:s, s:I, s:s, s:b, s:b, s:s, s:s}", "label",
			 one->label, "bytes", (json_int_t)one->bytes, "created",
			 created, "memory", one->memory, "automatic",
			 one->automatic, "parent", one->parent, "mark",
			 one->mark);
}

static int list(const struct options *options, struct error *err)
{
	static const char *const headings[] = { "LABEL", "SIZE",   "AGE",
						"KEEPS", "PARENT", NULL };
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_FREE struct checkpoint *all = NULL;
	AUTO(table) struct table *table = table_new(headings);
	AUTO(json) json_t *rows = json_array();
	size_t count = 0;

	if (sandbox_open(options->words[0], &sandbox, err) < 0 ||
	    checkpoint_list(&sandbox, &all, &count, err) < 0)
		return -1;
	for (size_t i = 0; i < count; i++) {
		if (options_flag(options, "quiet"))
			printf("%s\n", all[i].label);
		add_row(table, &all[i]);
		add_parent(table, all, count, &all[i]);
		json_array_append_new(rows, row_json(&all[i]));
	}
	if (options_flag(options, "quiet"))
		return 0;
	if (options_flag(options, "json"))
		print_json(rows);
	else
		table_print(table);
	return 0;
}

const struct command command_checkpoint_ls = {
	.name = "checkpoint ls",
	.arguments = "NAME",
	.help = "list a sandbox's checkpoints",
	.options = command_list_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = list,
};

static int remove_some(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_CLOSE int held = -1;
	uint64_t freed = 0;
	char size[32];

	if (sandbox_open(options->words[0], &sandbox, err) < 0)
		return -1;
	held = lock(&sandbox, err);
	if (held < 0)
		return -1;
	for (size_t i = 1; i < options->word_count; i++) {
		struct checkpoint one;

		if (checkpoint_find(&sandbox, options->words[i], &one, err) <
			    0 &&
		    err->code != EBADMSG)
			return -1;
		if (checkpoint_remove(&sandbox, options->words[i], err) < 0)
			return -1;
		freed += one.freed;
	}
	text_from_size(freed, size, sizeof(size));
	fprintf(stderr, "bawn: %s given back\n", size);
	return 0;
}

const struct command command_checkpoint_rm = {
	.name = "checkpoint rm",
	.arguments = "NAME LABEL...",
	.help = "remove checkpoints of a sandbox",
	.options = no_rows,
	.completes = COMPLETE_STATES,
	.flags = COMMAND_USES_STORE,
	.min_words = 2,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = remove_some,
};

/* As `bawn undo NAME --to MARK` would: the journal is its business. */
static int undo_to(const char *name, const char *mark, struct error *err)
{
	const char *argv[] = {
		"bawn", "undo", name, "--to", mark, "--yes", NULL
	};
	struct child_spec spec = { .path = "/proc/self/exe",
				   .argv = argv,
				   .env = (const char *const *)environ,
				   .flags = 0 };
	struct child child;
	int status = 0;

	if (child_spawn(&spec, &child, err) < 0 ||
	    child_wait(&child, &status, err) < 0)
		return -1;
	return status == 0 ? 0
			   : error_set(err, 0,
				       "the folders could not be taken back");
}

static int go_back(struct sandbox *sandbox, const struct checkpoint *to,
		   bool workspace, struct error *err)
{
	AUTO_CLOSE int held = -1;

	if (halt_folder(sandbox->folder, 0, err) < 0)
		return -1;
	if (workspace && undo_to(sandbox->record.name, to->mark, err) < 0)
		return -1;
	held = lock(sandbox, err);
	if (held < 0)
		return -1;
	if (fileio_is_locked(sandbox->folder, STORE_ALIVE_FILE) == 1)
		return error_set(err, EBUSY, "another command started it");
	return checkpoint_restore(sandbox, to, err);
}

static int restore(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO_START struct start start = START_INIT;
	bool workspace = options_flag(options, "workspace");
	struct checkpoint to;

	if (sandbox_open(options->words[0], &sandbox, err) < 0 ||
	    checkpoint_find(&sandbox, options->words[1], &to, err) < 0)
		return -1;
	if (workspace && !to.mark[0])
		return error_set(
			err, 0,
			"--workspace: checkpoint %s has no mark of the "
			"folders (they must be shared directly, and "
			"the sandbox must have been running)",
			to.label);
	if (go_back(&sandbox, &to, workspace, err) < 0 ||
	    start_sandbox(&sandbox, NULL, START_WAIT, &start, err) < 0)
		return error_prefix(err, "restoring %s", options->words[0]);
	return 0;
}

static const struct option_row restore_rows[] = {
	{ "workspace", '\0', OPTION_FLAG, NULL,
	  "take back its changes in shared folders, too", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_restore = {
	.name = "restore",
	.arguments = "NAME LABEL",
	.help = "take a sandbox back to a checkpoint",
	.options = restore_rows,
	.completes = COMPLETE_STATES,
	.flags = COMMAND_USES_STORE,
	.min_words = 2,
	.max_words = 2,
	.failure_code = 1,
	.run = restore,
};
