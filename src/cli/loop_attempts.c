/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_attempts.c - several loops at once from one state, of which one is kept
 *
 * Each attempt is a child with its output in a pipe; its lines are passed on
 * with its number. Children are process groups of their own, so that Ctrl-C
 * comes here alone and is passed on once.
 */
#include "cli/loop_attempts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/checkpoint.h"
#include "cli/clone.h"
#include "cli/fork.h"
#include "cli/halt.h"
#include "cli/loop_options.h"
#include "cli/loop_run.h"
#include "cli/loop_words.h"
#include "cli/removal.h"
#include "loop/ralph_folder.h"
#include "loop/tasks.h"
#include "state/paths.h"

#define LINE_MAX_BYTES (1024u * 1024)
#define READ_BYTES 16384
#define GRACE_MS 10000
#define OWN_FAILURE 125

AUTO_DEFINE(json, json_t *, json_decref)

struct attempt {
	char *name; /* owned: of its sandbox */
	pid_t pid;
	int out; /* owned: its events; -1: it has ended */
	struct buffer text;
};

struct attempts {
	struct loop_options *wish;
	struct store store;
	size_t count;
	struct attempt list[LOOP_ATTEMPTS_MAX];
	int codes[LOOP_ATTEMPTS_MAX];
	size_t lines[LOOP_ATTEMPTS_MAX];
	struct loop_signals signals;
	struct loop_view view;
	int workspace;                 /* owned */
	char mode[16];                 /* of their workspaces */
	char task_id[TASK_ID_MAX + 1]; /* "": there are no tasks */
};

static void attempts_release(struct attempts *all)
{
	for (size_t i = 0; i < all->count; i++) {
		free(all->list[i].name);
		buffer_release(&all->list[i].text);
		if (all->list[i].out >= 0)
			close(all->list[i].out);
	}
	if (all->workspace >= 0)
		close(all->workspace);
	loop_signals_close(&all->signals);
	store_close(&all->store);
}
AUTO_DEFINE(attempts, struct attempts *, attempts_release)

/* ---- where they start ---- */

/* The loop's own sandbox, unless that one works on the folder itself. */
static char *base_name(const char *name, bool *existed)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	char *other;

	*existed = sandbox_open(name, &sandbox, NULL) == 0;
	if (!*existed || strcmp(sandbox.record.mode, "direct") != 0)
		return xstrdup(name);
	other = xasprintf("%.60s-a", name);
	sandbox_close(&sandbox);
	sandbox = SANDBOX_INIT;
	*existed = sandbox_open(other, &sandbox, NULL) == 0;
	return other;
}

static int make_forks(struct attempts *all, const struct sandbox *base,
		      struct error *err)
{
	const struct checkpoint_wish wish = { .at_once = true };
	AUTO_CLOSE int lock = fileio_lock(base->folder, STORE_LOCK_FILE,
					  FILEIO_LOCK_WAIT, err);
	struct checkpoint_made made = { 0 };
	struct checkpoint from;
	const struct fork_source source = { .parent = base, .from = &from };
	unsigned next = 1;
	int failed = 0;

	if (lock < 0 || checkpoint_make(base, &wish, &made, err) < 0 ||
	    checkpoint_find(base, made.label, &from, err) < 0)
		return -1;
	for (size_t i = 0; i < all->count && failed == 0; i++) {
		struct attempt *one = &all->list[i];

		one->name =
			fork_free_name(&all->store, base->record.name, &next);
		failed = fork_make(&all->store, &source, one->name, err);
	}
	(void)checkpoint_remove(base, made.label, NULL);
	return failed;
}

static void let_go(struct attempts *all, const struct loop_run *base,
		   bool existed, bool ran_before)
{
	struct error err = { 0 };

	if (!existed)
		(void)removal_of(&all->store, base->sandbox.record.name, &err);
	else if (!ran_before && halt_suspend(base->sandbox.folder, &err) < 0)
		(void)halt_folder(base->sandbox.folder, GRACE_MS, &err);
}

/* The forks have all that they need: the base makes room for them. */
static int begin(struct attempts *all, const char *name, struct error *err)
{
	AUTO_LOOP_RUN struct loop_run base = LOOP_RUN_INIT;
	bool existed = false, ran_before = false;
	AUTO_FREE char *from = base_name(name, &existed);
	int failed;

	if (loop_make_sandbox(all->wish, from, &base, &ran_before, err) < 0 ||
	    store_open(&all->store, err) < 0)
		return -1;
	(void)text_copy(all->mode, sizeof(all->mode), base.sandbox.record.mode);
	failed = make_forks(all, &base.sandbox, err);
	let_go(all, &base, existed, ran_before);
	return failed;
}

/* One task for all of them: the next of the list. */
static int take_task(struct attempts *all, struct error *err)
{
	AUTO_TASKS struct task_list list = TASK_LIST_INIT;
	struct loop_options *wish = all->wish;
	const struct task *task;
	char file[64];
	char *prompt;

	all->workspace = ralph_workspace_open(wish->path, err);
	if (all->workspace < 0 ||
	    loop_run_tasks(all->workspace, &list, file, sizeof(file), err) < 0)
		return -1;
	task = tasks_next(&list);
	if (!task)
		return 0;
	(void)text_copy(all->task_id, sizeof(all->task_id), task->id);
	prompt = xasprintf("%s\n\nThis time do this task of %s and no other: "
			   "%s: %s\n",
			   wish->prompt, file, task->id, task->title);
	free(wish->prompt);
	wish->prompt = prompt;
	return 0;
}

/* ---- what they say ---- */

static void pass_line(const struct attempts *all, size_t at, const char *line,
		      size_t len)
{
	AUTO(json) json_t *event = NULL;
	AUTO_FREE char *text = NULL;

	if (!all->wish->json) {
		printf("[%zu] %.*s\n", at + 1, (int)len, line);
		return;
	}
	event = json_loadb(line, len, 0, NULL);
	if (!event)
		return;
	json_object_set_new(event, "attempt", json_integer((json_int_t)at + 1));
	text = json_dumps(event, JSON_COMPACT);
	printf("%s\n", text ? text : "{}");
}

static void pass_lines(const struct attempts *all, size_t at,
		       struct buffer *text)
{
	const uint8_t *feed;

	while ((feed = memchr(text->data, '\n', text->len))) {
		size_t len = (size_t)(feed - text->data);

		pass_line(all, at, (const char *)text->data, len);
		buffer_consume(text, len + 1);
		if (!text->len)
			break;
	}
	fflush(stdout);
}

static void hear(struct attempts *all, size_t at)
{
	struct attempt *one = &all->list[at];
	uint8_t bytes[READ_BYTES];
	ssize_t got = read(one->out, bytes, sizeof(bytes));
	int status = 0;

	if (got < 0 && errno == EINTR)
		return;
	/* a line that is too long is lost, and nothing else */
	if (got > 0 && buffer_append(&one->text, bytes, (size_t)got) < 0)
		buffer_consume(&one->text, one->text.len);
	if (one->text.len)
		pass_lines(all, at, &one->text);
	if (got > 0)
		return;
	close(TAKE_FD(one->out));
	while (waitpid(one->pid, &status, 0) < 0 && errno == EINTR)
		;
	one->pid = 0;
	all->codes[at] = child_exit_code(status);
}

static void pass_signals(struct attempts *all)
{
	unsigned before = all->signals.wishes;

	loop_signals_read(&all->signals);
	if (all->signals.wishes == before)
		return;
	for (size_t i = 0; i < all->count; i++)
		if (all->list[i].pid > 0)
			kill(all->list[i].pid,
			     all->signals.wishes >= 2 ? SIGTERM : SIGINT);
}

static void hear_all(struct attempts *all)
{
	for (;;) {
		struct pollfd polls[LOOP_ATTEMPTS_MAX + 1];
		bool any = false;

		for (size_t i = 0; i < all->count; i++) {
			polls[i] =
				(struct pollfd){ all->list[i].out, POLLIN, 0 };
			any |= all->list[i].out >= 0;
		}
		polls[all->count] =
			(struct pollfd){ all->signals.fd, POLLIN, 0 };
		if (!any)
			return;
		if (poll(polls, all->count + 1, -1) < 0 && errno != EINTR)
			return;
		pass_signals(all);
		for (size_t i = 0; i < all->count; i++)
			if (all->list[i].out >= 0 && polls[i].revents)
				hear(all, i);
	}
}

/* ---- one of them ---- */

static void be_attempt(struct attempts *all, size_t at, int out)
{
	struct error err = { 0 };
	int code;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (dup2(out, 1) < 0)
		_exit(OWN_FAILURE);
	code = loop_start(all->wish, all->list[at].name, (unsigned)at + 1,
			  &err);
	if (code < 0)
		fprintf(stderr, "bawn: attempt %zu: %s\n", at + 1, err.text);
	fflush(stdout);
	_exit(code < 0 ? OWN_FAILURE : code);
}

static int spawn(struct attempts *all, size_t at, struct error *err)
{
	struct attempt *one = &all->list[at];
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, errno, "attempt %zu", at + 1);
	fflush(NULL);
	one->pid = fork();
	if (one->pid == 0)
		be_attempt(all, at, ends[1]);
	close(ends[1]);
	one->out = ends[0];
	if (one->pid > 0)
		return 0;
	close(TAKE_FD(one->out));
	return error_set(err, errno, "attempt %zu", at + 1);
}

/* ---- the end ---- */

static void judge(struct attempts *all)
{
	for (size_t i = 0; i < all->count; i++) {
		AUTO_LOOP_RUN struct loop_run run = LOOP_RUN_INIT;
		struct error err = { 0 };

		if (all->codes[i])
			continue;
		run.signals.fd = dup(all->signals.fd);
		if (sandbox_open(all->list[i].name, &run.sandbox, &err) == 0 &&
		    loop_judge_lines(&run, &all->lines[i], &err) == 0)
			continue;
		fprintf(stderr, "bawn: attempt %zu: %s\n", i + 1, err.text);
		all->codes[i] = OWN_FAILURE;
	}
}

static void drop(struct attempts *all, size_t at)
{
	AUTO_CLOSE int loops = paths_open(PATHS_STATE, RUN_STATE_FOLDER, NULL);
	struct error err = { 0 };

	if (removal_of(&all->store, all->list[at].name, &err) < 0)
		fprintf(stderr, "bawn: %s: %s\n", all->list[at].name, err.text);
	if (loops >= 0)
		(void)fileio_remove_tree(loops, all->list[at].name, NULL);
}

static void keep(struct attempts *all, size_t at)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	struct error err = { 0 };

	if (sandbox_open(all->list[at].name, &sandbox, &err) < 0)
		return;
	clone_publish(&sandbox);
	if (!options_flag(all->wish->options, "keep") &&
	    halt_suspend(sandbox.folder, &err) < 0)
		(void)halt_folder(sandbox.folder, GRACE_MS, &err);
}

static void say_winner(struct attempts *all, size_t at)
{
	AUTO(json)
	json_t *details =
		json_pack("{s:I, s:s, s:I, s:s}", "attempt", (json_int_t)at + 1,
			  "name", all->list[at].name, "lines",
			  (json_int_t)all->lines[at], "mode", all->mode);

	loop_view_event(&all->view, "winner", details);
}

static void hook(const struct attempts *all, const char *name, int code)
{
	struct loop_run run = LOOP_RUN_INIT;

	run.hook = all->wish->hook;
	run.state.name = (char *)(uintptr_t)name;
	run.state.workspace = all->wish->path;
	run.state.status = code == 0     ? RUN_COMPLETE
			   : code == 130 ? RUN_INTERRUPTED
					 : RUN_LIMIT;
	(void)text_copy(run.state.detail, sizeof(run.state.detail),
			code ? "no attempt passed" : "an attempt passed");
	loop_run_hook(&run);
}

static int conclude(struct attempts *all, const char *name)
{
	size_t best;
	int code;

	judge(all);
	best = loop_words_choose(all->codes, all->lines, all->count);
	for (size_t i = 0; i < all->count; i++) {
		if (best == all->count || i == best)
			keep(all, i);
		else
			drop(all, i);
	}
	if (best < all->count) {
		if (all->task_id[0])
			loop_run_mark_done(all->workspace, all->task_id);
		say_winner(all, best);
		hook(all, all->list[best].name, 0);
		return 0;
	}
	code = loop_words_code(all->codes, all->count);
	loop_view_event(&all->view, "no_winner", NULL);
	hook(all, name, code);
	return code;
}

int loop_attempts(struct loop_options *wish, const char *name,
		  struct error *err)
{
	struct attempts content = { .wish = wish,
				    .store = STORE_INIT,
				    .count = wish->attempts,
				    .signals = LOOP_SIGNALS_INIT,
				    .workspace = -1 };
	AUTO(attempts) struct attempts *all = &content;

	for (size_t i = 0; i < all->count; i++) {
		all->list[i].out = -1;
		all->codes[i] = OWN_FAILURE;
		buffer_init(&all->list[i].text, LINE_MAX_BYTES);
	}
	loop_view_init(&all->view, wish->json);
	all->view.live = false;
	if (take_task(all, err) < 0 || begin(all, name, err) < 0 ||
	    loop_signals_open(&all->signals, err) < 0)
		return -1;
	for (size_t i = 0; i < all->count; i++)
		if (spawn(all, i, err) < 0)
			fprintf(stderr, "bawn: %s\n", err->text);
	hear_all(all);
	return conclude(all, name);
}
