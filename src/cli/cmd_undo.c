/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_undo.c - takes back what a sandbox changed in its folders
 *
 * The journal and the saved files are bawn-files' and believed in nothing:
 * which folders are shared is read from the sandbox's own record, and root
 * becomes the folder's owner before it opens the first of them.
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/mark.h"
#include "cli/print.h"
#include "cli/store.h"
#include "cli/table.h"
#include "cli/undo_report.h"
#include "cli/undo_shares.h"
#include "undo/replay.h"
#include "undo/segment.h"

#define FOLDER_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

struct undo_command {
	const char *name;
	struct sandbox sandbox;
	struct undo_shares shares;
	struct segments segments;
	size_t target; /* index of the segment that is undone last */
	struct undo_report report;
	struct replay replay;
};

static int nothing_kept(const struct undo_command *undo, struct error *err)
{
	return error_set(err, 0,
			 "nothing is kept for undo: %s has not run in direct "
			 "mode with a folder that it may write",
			 undo->name);
}

static int open_journal(struct undo_command *undo, struct error *err)
{
	AUTO_CLOSE int files =
		openat(undo->sandbox.folder, "files", FOLDER_FLAGS);

	if (files >= 0)
		undo->replay.undo_fd = openat(files, "undo", FOLDER_FLAGS);
	if (undo->replay.undo_fd < 0 && errno == ENOENT)
		return nothing_kept(undo, err);
	if (undo->replay.undo_fd < 0)
		return error_set(err, errno, "undo journal of %s", undo->name);
	return 0;
}

static int find_target(struct undo_command *undo, const char *label,
		       struct error *err)
{
	const struct segments *segments = &undo->segments;

	for (size_t i = segments->count; i-- > 0;) {
		const char *has = segments->list[i].label;

		if (label ? !strcmp(has, label)
			  : text_starts(has, SEGMENT_RUN)) {
			undo->target = i;
			return 0;
		}
	}
	if (label)
		return error_set(err, 0,
				 "%s has no mark \"%s\" (`bawn undo --list "
				 "%s` shows them)",
				 undo->name, label, undo->name);
	return nothing_kept(undo, err);
}

static int list(const struct undo_command *undo, bool json)
{
	static const char *const headings[] = { "LABEL", "TIME", NULL };
	struct table *table = json ? NULL : table_new(headings);
	json_t *array = json ? json_array() : NULL;
	char when[32];

	for (size_t i = 0; i < undo->segments.count; i++) {
		const struct segment *segment = &undo->segments.list[i];

		table_time(segment->time, when, sizeof(when));
		if (json) {
			json_array_append_new(
				array, json_pack("{s:s, s:s}", "label",
						 segment->label, "time", when));
			continue;
		}
		table_cell(table, segment->label);
		table_cell(table, when);
	}
	if (json)
		print_json(array);
	else
		table_print(table);
	json_decref(array);
	if (table)
		table_free(table);
	return 0;
}

static int each_segment(struct undo_command *undo,
			int (*act)(struct undo_command *undo, size_t i,
				   struct error *err),
			struct error *err)
{
	for (size_t i = undo->segments.count; i-- > undo->target;) {
		if (act(undo, i, err) < 0)
			return -1;
	}
	return 0;
}

static int plan_one(struct undo_command *undo, size_t i, struct error *err)
{
	return replay_plan(&undo->replay, undo->segments.list[i].number, err);
}

static int root_of(void *ctx, const char *path)
{
	const struct undo_command *undo = ctx;

	return undo_shares_root(&undo->shares, path);
}

static void tell(void *ctx, enum replay_did did, const char *path,
		 const char *more)
{
	struct undo_command *undo = ctx;

	undo_report_add(&undo->report, did, path, more);
}

static int make_plan(struct undo_command *undo, bool force, struct error *err)
{
	undo->replay.force = force;
	undo->replay.root_of = root_of;
	undo->replay.tell = tell;
	undo->replay.ctx = undo;
	if (replay_begin(&undo->replay, err) < 0)
		return -1;
	return each_segment(undo, plan_one, err);
}

/* All of it was taken back: only the target is still a mark. */
static int clear_segment(struct undo_command *undo, size_t i, struct error *err)
{
	AUTO_CLOSE int folder = -1;
	char name[16];

	segment_name(undo->segments.list[i].number, name);
	if (i != undo->target)
		return fileio_remove_tree(undo->replay.undo_fd, name, err);
	folder = openat(undo->replay.undo_fd, name, FOLDER_FLAGS);
	if (folder < 0)
		return error_set(err, errno, "undo segment %s", name);
	if (fileio_remove_tree(folder, SEGMENT_FILES, err) < 0)
		return -1;
	if (mkdirat(folder, SEGMENT_FILES, 0700) < 0)
		return error_set(err, errno, "undo segment %s", name);
	return segment_write(folder, SEGMENT_SIZE, "0\n", err);
}

static int run_one(struct undo_command *undo, size_t i, struct error *err)
{
	int all = replay_run(&undo->replay, undo->segments.list[i].number, err);

	return all > 0 ? clear_segment(undo, i, err) : all;
}

static int confirm(const struct undo_command *undo, bool sure,
		   struct error *err)
{
	char question[256], what[128];

	if (sure)
		return 0;
	if (!isatty(0) || !isatty(2))
		return error_set(err, 0,
				 "undo changes files on this host: without a "
				 "terminal it needs -y");
	undo_report_summary(&undo->report, what, sizeof(what));
	text_format(question, sizeof(question),
		    "Take back what %s changed since %s (%s)?", undo->name,
		    undo->segments.list[undo->target].label, what);
	return print_ask(question) ? 0 : error_set(err, 0, "nothing undone");
}

static int check_whole(const struct undo_command *undo, bool force,
		       struct error *err)
{
	if (force ||
	    (!undo->replay.incomplete && !undo->replay.counts[REPLAY_LOST]))
		return 0;
	undo_report_print(&undo->report, UNDO_REPORT_TROUBLE);
	return error_set(
		err, 0, "not everything was saved%s: -f undoes the rest",
		undo->replay.counts[REPLAY_LOST] ? " (see above)" : "");
}

static int show(const struct undo_command *undo, bool json)
{
	if (json) {
		json_t *root = undo_report_json(&undo->report);

		json_object_set_new(
			root, "to",
			json_string(undo->segments.list[undo->target].label));
		print_json(root);
		json_decref(root);
		return 0;
	}
	undo_report_print(&undo->report, UNDO_REPORT_ALL);
	return 0;
}

static bool is_empty(const struct undo_report *report)
{
	for (size_t i = 0; i < REPLAY_KINDS; i++) {
		if (report->counts[i])
			return false;
	}
	return true;
}

/* What was told of the plan is what is said to be done; trouble is new. */
static int carry_out(struct undo_command *undo, bool json, struct error *err)
{
	struct undo_report plan = undo->report;
	char what[160];
	size_t left;

	undo->report = (struct undo_report){ 0 };
	if (each_segment(undo, run_one, err) < 0) {
		undo_report_release(&plan);
		return -1;
	}
	left = undo->report.counts[REPLAY_CONFLICT] +
	       undo->report.counts[REPLAY_FAILED];
	if (!left)
		replay_finish(&undo->replay, undo->target == 0);
	if (json) {
		show(undo, json);
	} else {
		for (size_t i = REPLAY_CONFLICT; i < REPLAY_KINDS; i++)
			plan.counts[i] = undo->report.counts[i];
		undo_report_print(&undo->report, UNDO_REPORT_TROUBLE);
		undo_report_summary(&plan, what, sizeof(what));
		printf("%s: %s\n", undo->name, what);
	}
	undo_report_release(&plan);
	return left > 0;
}

static int work(struct undo_command *undo, const struct options *options,
		struct error *err)
{
	bool force = options_flag(options, "force");
	bool json = options_flag(options, "json");
	bool dry = options_flag(options, "dry-run");

	if (make_plan(undo, force, err) < 0)
		return -1;
	if (dry)
		return show(undo, json);
	if (is_empty(&undo->report) && !undo->replay.incomplete) {
		if (json)
			return show(undo, json);
		printf("nothing to undo since %s\n",
		       undo->segments.list[undo->target].label);
		return 0;
	}
	if (check_whole(undo, force, err) < 0 ||
	    confirm(undo, force || options_flag(options, "yes"), err) < 0)
		return -1;
	return carry_out(undo, json, err);
}

static int prepare(struct undo_command *undo, const struct options *options,
		   struct error *err)
{
	if (sandbox_open(undo->name, &undo->sandbox, err) < 0 ||
	    open_journal(undo, err) < 0 ||
	    segments_load(undo->replay.undo_fd, &undo->segments, err) < 0)
		return -1;
	if (options_flag(options, "list"))
		return 0;
	if (find_target(undo, options_value(options, "to"), err) < 0 ||
	    undo_shares_open(&undo->shares, &undo->sandbox.record, err) < 0)
		return -1;
	return 0;
}

/* From now on the guest writes elsewhere, and what we read is complete. */
static int set_mark(const struct undo_command *undo,
		    const struct options *options, struct error *err)
{
	if (options_flag(options, "dry-run") ||
	    fileio_is_locked(undo->sandbox.folder, STORE_ALIVE_FILE) != 1 ||
	    mark_set_now(&undo->sandbox, "undo-", err) == 0 ||
	    err->code == ESRCH)
		return 0;
	return error_prefix(err, "dividing what %s changes", undo->name);
}

static int check_label(const struct options *options, const char *label,
		       struct error *err)
{
	if (options_value(options, "to") || options_flag(options, "list") ||
	    options_flag(options, "dry-run"))
		return options_usage(err, "--mark sets a mark and does nothing "
					  "else: not with --to, --list or "
					  "--dry-run");
	if (!journal_label_is_good(label))
		return options_usage(err,
				     "--mark: a label has up to %d letters, "
				     "digits and . _ : + -, and begins with "
				     "none of . and -",
				     JOURNAL_LABEL_MAX);
	if (text_starts(label, SEGMENT_RUN))
		return options_usage(err,
				     "--mark: labels that begin with "
				     "\"" SEGMENT_RUN "\" are those of runs");
	return 0;
}

static int mark(const struct options *options, struct error *err)
{
	struct undo_command undo = { .name = options->words[0],
				     .sandbox = SANDBOX_INIT };
	const char *label = options_value(options, "mark");
	AUTO_CLOSE int lock = -1;
	int result = -1;

	if (check_label(options, label, err) < 0 ||
	    sandbox_open(undo.name, &undo.sandbox, err) < 0)
		return -1;
	lock = fileio_lock(undo.sandbox.folder, STORE_LOCK_FILE,
			   FILEIO_LOCK_WAIT, err);
	if (lock >= 0 &&
	    fileio_is_locked(undo.sandbox.folder, STORE_ALIVE_FILE) != 1)
		error_set(err, 0,
			  "%s is not running: a mark divides what a running "
			  "sandbox changes",
			  undo.name);
	else if (lock >= 0)
		result = mark_set(&undo.sandbox, label, err);
	if (result < 0 && err->code == ESRCH)
		nothing_kept(&undo, err);
	sandbox_close(&undo.sandbox);
	return result;
}

static int run(const struct options *options, struct error *err)
{
	struct undo_command undo = { .name = options->words[0],
				     .sandbox = SANDBOX_INIT,
				     .replay = REPLAY_INIT };
	AUTO_CLOSE int lock = -1;
	int result;

	if (options_value(options, "mark"))
		return mark(options, err);
	result = prepare(&undo, options, err);
	if (result == 0 && options_flag(options, "list")) {
		result = list(&undo, options_flag(options, "json"));
	} else if (result == 0) {
		lock = fileio_lock(undo.sandbox.folder, STORE_LOCK_FILE,
				   FILEIO_LOCK_WAIT, err);
		result = lock < 0 || set_mark(&undo, options, err) < 0 ||
					 undo_shares_take_owner(&undo.shares,
								err) < 0
				 ? -1
				 : work(&undo, options, err);
	}
	replay_release(&undo.replay);
	if (undo.replay.undo_fd >= 0)
		close(undo.replay.undo_fd);
	undo_report_release(&undo.report);
	segments_release(&undo.segments);
	undo_shares_release(&undo.shares);
	sandbox_close(&undo.sandbox);
	return result;
}

static const struct option_row rows[] = {
	{ "to", '\0', OPTION_VALUE, "LABEL",
	  "back to this mark instead of the start of the last run",
	  COMPLETE_MARKS, OPTION_HERE },
	{ "mark", '\0', OPTION_VALUE, "LABEL",
	  "set a mark now, and undo nothing", NULL, OPTION_HERE },
	{ "list", '\0', OPTION_FLAG, NULL, "show the marks", NULL,
	  OPTION_HERE },
	{ "dry-run", '\0', OPTION_FLAG, NULL,
	  "show what would be done, and do nothing", NULL, OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ "yes", 'y', OPTION_FLAG, NULL, "do not ask", NULL, OPTION_HERE },
	{ "force", 'f', OPTION_FLAG, NULL,
	  "do not ask, and take back what the host changed since", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_undo = {
	.name = "undo",
	.arguments = "NAME",
	.help = "take back what a sandbox changed in its folders",
	.options = rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = run,
};
