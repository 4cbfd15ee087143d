/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_guest.c - a loop's files where the workspace is the guest's own
 */
#include "cli/loop_guest.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/loop_run.h"
#include "cli/loop_words.h"
#include "loop/ralph_folder.h"
#include "loop/tasks.h"

#define TASKS_MARKDOWN RALPH_FOLDER "/" RALPH_TASKS
#define TASKS_JSON ".agent/tasks.json"
#define GIT_LOG ".git/logs/HEAD"
#define FILES_BYTES_MAX (4u << 20)
#define LIMIT_MS 60000
#define TOOL "/proc/1/exe"

static const char read_tasks[] =
	"for f in " TASKS_MARKDOWN " " TASKS_JSON "; do\n"
	"	if [ -f $f ] && [ ! -L $f ]; then echo $f; exec cat $f; fi\n"
	"done\n";

static const char write_tasks[] =
	"mkdir -p " RALPH_FOLDER " && cat >" TASKS_MARKDOWN ".new && "
	"mv -f " TASKS_MARKDOWN ".new " TASKS_MARKDOWN "\n";

/* Not what is written while it is read: that is taken the next time. */
static const char take_context[] =
	"cd " RALPH_FOLDER " 2>/dev/null || exit 0\n"
	"[ -f " RALPH_CONTEXT " ] && [ ! -L " RALPH_CONTEXT " ] || exit 0\n"
	"mv " RALPH_CONTEXT " .taken && cat .taken && rm -f .taken\n";

/* What the loop keeps there is no part of the work. */
static const char leave_out[] =
	"grep -qx .ralph/ .git/info/exclude 2>/dev/null ||\n"
	"	{ mkdir -p .git/info && echo .ralph/ >>.git/info/exclude; }\n";

/* New files count, too; the index of the clone is left alone. */
static const char count_lines[] =
	"base=$(git rev-parse -q --verify refs/remotes/origin/HEAD || "
	"git rev-parse -q --verify @{upstream} || echo HEAD)\n"
	"cp .git/index .git/bawn-index 2>/dev/null\n"
	"export GIT_INDEX_FILE=.git/bawn-index\n"
	"git add -A -N . 2>/dev/null\n"
	"git diff --no-ext-diff --no-textconv --no-renames --numstat $base |\n"
	"	{ n=0; while read a d rest; do\n"
	"		[ \"$a\" = - ] && a=100 d=0\n"
	"		n=$((n + a + d))\n"
	"	done; echo $n; }\n"
	"rm -f .git/bawn-index\n";

bool loop_guest_owns_workspace(const struct sandbox_record *record)
{
	return record->shares.count && strcmp(record->mode, "direct") != 0;
}

struct said {
	struct buffer *out;
	bool too_long;
};

static void take(void *ctx, bool is_error, const void *bytes, size_t len)
{
	struct said *said = ctx;

	if (!is_error && buffer_append(said->out, bytes, len) < 0)
		said->too_long = true;
}

/* What a program wrote, as root or as agent; out may be NULL. */
static int ask_program(struct loop_run *run, const char *user,
		       const char *const *argv, const char *input,
		       struct buffer *out, struct error *err)
{
	AUTO_BUFFER struct buffer unused = BUFFER_INIT(4096);
	struct said said = { .out = out ? out : &unused };
	struct engine_turn end = { 0 };
	const struct loop_turn one = {
		.sandbox = &run->sandbox,
		.user = user,
		.argv = argv,
		.input = input ? input : "",
		.limit_ms = LIMIT_MS,
		.signals = &run->signals,
		.on_output = take,
		.ctx = &said,
	};

	if (loop_turn_run(&one, &end, err) < 0)
		return -1;
	if (end.end != ENGINE_TURN_EXITED)
		return error_set(err, 0, "a script in the sandbox had to end");
	if (said.too_long)
		return error_set(err, 0, "a file in the sandbox is too long");
	return 0;
}

static int ask(struct loop_run *run, const char *script, const char *input,
	       struct buffer *out, struct error *err)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	return ask_program(run, NULL, argv, input, out, err);
}

static int copy_tasks(struct loop_run *run, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TASKS_BYTES_MAX + 1);
	AUTO_BUFFER struct buffer there = BUFFER_INIT(TASKS_BYTES_MAX + 64);
	int got = ralph_read(run->workspace, TASKS_MARKDOWN, &text, err);

	if (got <= 0 || ask(run, read_tasks, NULL, &there, err) < 0)
		return got <= 0 ? 0 : -1;
	if (there.len)
		return 0;
	return ask(run, write_tasks, buffer_str(&text), NULL, err);
}

/*
 * Names of what changed since the last call; the list is the caller's.
 * bawn-init itself looks: a template may have no tool that is exact enough.
 */
static json_t *list_newer(struct loop_run *run, struct error *err)
{
	const struct sandbox_record *record = &run->sandbox.record;
	bool clone = !strcmp(record->mode, "clone");
	AUTO_BUFFER struct buffer said = BUFFER_INIT(FILES_BYTES_MAX);
	char since[32];
	const char *const argv[] = { TOOL, "newer",
				     clone ? record->shares.items[0].guest
					   : "0",
				     since, NULL };
	json_t *files = NULL;

	(void)text_format(since, sizeof(since), "%llu",
			  (unsigned long long)run->since);
	if (ask_program(run, "root", argv, NULL, &said, err) < 0)
		return NULL;
	if (loop_words_files((const char *)said.data, said.len, &run->since,
			     &files) < 0)
		error_set(err, 0, "the guest does not say what changed");
	return files;
}

int loop_guest_begin(struct loop_run *run, struct error *err)
{
	json_t *none;

	run->since = UINT64_MAX; /* only the time */
	none = list_newer(run, err);
	json_decref(none);
	if (!none)
		return -1;
	if (strcmp(run->sandbox.record.mode, "clone") != 0)
		return 0;
	return ask(run, leave_out, NULL, NULL, err) < 0 ? -1
							: copy_tasks(run, err);
}

/* 1 with what follows the name of the file; 0: there is none. */
static int fetch_tasks(struct loop_run *run, struct buffer *text,
		       struct error *err)
{
	const char *file;
	long at;

	if (ask(run, read_tasks, NULL, text, err) < 0)
		return error_prefix(err, "tasks");
	at = loop_words_tasks((const char *)text->data, text->len, &file);
	if (at < 0)
		return error_set(err, 0,
				 "tasks: the guest tells of a strange file");
	if (!file)
		return 0;
	(void)text_copy(run->tasks_file, sizeof(run->tasks_file), file);
	buffer_consume(text, (size_t)at);
	return 1;
}

int loop_guest_tasks(struct loop_run *run, struct task_list *list,
		     struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TASKS_BYTES_MAX + 64);
	int got;

	(void)text_copy(run->tasks_file, sizeof(run->tasks_file),
			TASKS_MARKDOWN);
	got = fetch_tasks(run, &text, err);
	if (got <= 0 || !text.len)
		return got < 0 ? -1 : 0;
	if (!strcmp(run->tasks_file, TASKS_MARKDOWN))
		return tasks_parse_markdown((const char *)text.data, text.len,
					    list, err);
	return tasks_parse_json((const char *)text.data, text.len, list, err);
}

int loop_guest_task_done(struct loop_run *run, const char *id,
			 struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TASKS_BYTES_MAX + 64);
	AUTO_BUFFER struct buffer marked = BUFFER_INIT(TASKS_BYTES_MAX + 1);

	if (fetch_tasks(run, &text, err) <= 0 ||
	    strcmp(run->tasks_file, TASKS_MARKDOWN) != 0 || !text.len ||
	    tasks_mark((const char *)text.data, text.len, id, TASK_DONE,
		       &marked) < 0)
		return 0;
	return ask(run, write_tasks, buffer_str(&marked), NULL, err);
}

int loop_guest_context(struct loop_run *run, struct buffer *out,
		       struct error *err)
{
	return ask(run, take_context, NULL, out, err);
}

/* A commit is progress, and no file of the work. */
static void drop_commits(json_t *list)
{
	for (size_t i = json_array_size(list); i-- > 0;) {
		const char *name = json_string_value(json_array_get(list, i));

		if (name && text_ends(name, GIT_LOG))
			json_array_remove(list, i);
	}
}

bool loop_guest_files(struct loop_run *run, json_t *record)
{
	struct error err = { 0 };
	json_t *list = list_newer(run, &err);
	bool any;

	if (!list) {
		log_debug("%s", err.text);
		list = json_array();
	}
	any = json_array_size(list) > 0;
	drop_commits(list);
	json_object_set_new(record, "files", list);
	return any;
}

int loop_guest_diff_lines(struct loop_run *run, size_t *lines,
			  struct error *err)
{
	AUTO_BUFFER struct buffer said = BUFFER_INIT(64);

	if (ask(run, count_lines, NULL, &said, err) < 0)
		return -1;
	if (loop_words_number((const char *)said.data, said.len, lines) < 0)
		return error_set(err, 0, "its clone cannot be compared");
	return 0;
}
