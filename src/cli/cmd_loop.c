/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_loop.c - loop
 */
#include "cli/command.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/halt.h"
#include "cli/loop_ask.h"
#include "cli/loop_attempts.h"
#include "cli/loop_guest.h"
#include "cli/loop_options.h"
#include "cli/loop_place.h"
#include "cli/loop_run.h"
#include "cli/mark.h"
#include "cli/mcp_host.h"
#include "cli/ready.h"
#include "cli/sandbox_options.h"
#include "loop/output.h"
#include "loop/prompt.h"
#include "loop/ralph_folder.h"
#include "undo/segment.h"

#define GRACE_MS 10000
#define SHELL_TEMPLATE "{{prompt}}\n"

AUTO_DEFINE(json, json_t *, json_decref)

int loop_make_sandbox(const struct loop_options *wish, const char *name,
		      struct loop_run *run, bool *ran_before, struct error *err)
{
	AUTO_FREE const char **argv = loop_options_create(wish, name);
	struct options options;
	int argc = 0, result;

	while (argv[argc])
		argc++;
	result = options_parse(&command_create, argc, argv, &options, err);
	if (result == 0)
		result = ready_make(&options, &run->sandbox, &run->keys,
				    ran_before, err);
	options_release(&options);
	loop_options_free_create(argv);
	return result;
}

/* A loop that died is taken up again, unless something else is wanted. */
static bool resumes(const struct loop_options *wish,
		    const struct run_state *old)
{
	return old->status == RUN_RUNNING && !wish->fresh &&
	       (!wish->prompt || !strcmp(wish->prompt, old->prompt));
}

static void fill_state(const struct loop_options *wish, const char *name,
		       struct run_state *state)
{
	state->name = xstrdup(name);
	state->agent = xstrdup(wish->agent);
	state->model = wish->model ? xstrdup(wish->model) : NULL;
	state->workspace = xstrdup(wish->path);
	state->prompt = xstrdup(wish->prompt);
	state->started = (int64_t)time(NULL);
}

static void fill_limits(const struct loop_options *wish,
			struct run_state *state)
{
	state->status = RUN_RUNNING;
	state->detail[0] = '\0';
	state->ended = 0;
	state->max_iterations = wish->max_iterations;
	state->min_iterations = wish->min_iterations;
	state->tasks_mode = wish->tasks;
	(void)text_copy(state->complete_word, sizeof(state->complete_word),
			wish->words.complete);
	(void)text_copy(state->task_word, sizeof(state->task_word),
			wish->words.task ? wish->words.task : "");
	state->pid = getpid();
	run_boot_id(state->boot_id);
}

static int begin_state(struct loop_options *wish, const char *name,
		       struct loop_run *run, bool *resumed, struct error *err)
{
	struct run_state old = RUN_STATE_INIT;
	int found;

	run->folder = loop_place_open(name, err);
	if (run->folder < 0)
		return -1;
	run->lock =
		fileio_lock(run->folder, RUN_STATE_LOCK, FILEIO_LOCK_TRY, err);
	if (run->lock < 0 && err->code == EWOULDBLOCK)
		return error_say(err, EWOULDBLOCK,
				 "a loop of %s runs already (`bawn loop "
				 "--status` shows it)",
				 wish->path);
	if (run->lock < 0)
		return -1;
	found = run_state_load(run->folder, &old, err);
	if (found < 0)
		return -1;
	*resumed = found && resumes(wish, &old);
	if (*resumed) {
		run->state = old;
		fill_limits(wish, &run->state);
		return 0;
	}
	run_state_release(&old);
	if (!wish->prompt)
		return options_usage(err, "nothing to do: give -p PROMPT or -f "
					  "FILE, or write .agent/PROMPT.md");
	fill_state(wish, name, &run->state);
	fill_limits(wish, &run->state);
	return run_history_clear(run->folder, err);
}

/* The list of tasks is there for the agent, also when it is empty. */
static int make_tasks(const struct loop_options *wish, int workspace,
		      struct error *err)
{
	AUTO_TASKS struct task_list list = TASK_LIST_INIT;
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TASKS_BYTES_MAX);
	static const char head[] = "# Tasks\n\n";

	if (!wish->tasks || ralph_read(workspace, RALPH_FOLDER "/" RALPH_TASKS,
				       &text, err) != 0)
		return 0;
	return ralph_write(workspace, RALPH_TASKS, head, strlen(head), err);
}

static void end_sandbox(const struct loop_options *wish, struct loop_run *run,
			bool ran_before)
{
	struct error err = { 0 };

	if (loop_checkpoint_wait(&run->checkpoint, &err) < 0)
		log_warn("%s", err.text);
	if (ran_before || wish->keep)
		return;
	if (halt_suspend(run->sandbox.folder, &err) < 0 &&
	    halt_folder(run->sandbox.folder, GRACE_MS, &err) < 0)
		fprintf(stderr, "bawn: stopping %s: %s\n",
			run->sandbox.record.name, err.text);
}

static int run_engine(const struct loop_options *wish, struct loop_run *run,
		      struct error *err)
{
	struct engine_world world = loop_run_world;
	struct engine engine = { .world = &world,
				 .ctx = run,
				 .limits = wish->limits,
				 .words = wish->words,
				 .template = wish->template,
				 .format = (int)wish->format,
				 .state = &run->state };

	if (!wish->verify)
		world.verify = NULL;
	if (!wish->rollback)
		world.rollback = NULL;
	run->checkpoints = wish->checkpoints;
	run->must_checkpoint = wish->rollback;
	if (!engine.template && !strcmp(wish->agent, "shell") &&
	    !wish->agent_command)
		engine.template = SHELL_TEMPLATE;
	/* `bawn undo` takes back the whole run */
	(void)mark_set_now(&run->sandbox, SEGMENT_RUN, NULL);
	return engine_run(&engine, err);
}

static void say_begin(struct loop_run *run, bool resumed)
{
	AUTO(json)
	json_t *details = json_pack("{s:s, s:s, s:s, s:s}", "name",
				    run->state.name, "agent", run->state.agent,
				    "workspace", run->state.workspace,
				    "resumed", resumed ? "yes" : "");

	loop_view_event(&run->view, "begin", details);
}

/* What is new in a sandbox whose workspace is its own. */
static void say_how_to_take(const struct loop_run *run)
{
	const char *name = run->sandbox.record.name;

	if (!run->in_guest || run->attempt || run->view.json)
		return;
	if (!strcmp(run->sandbox.record.mode, "clone"))
		printf("its commits: git fetch sandbox-%s\n", name);
	else
		printf("its changes: bawn diff %s, bawn apply %s\n", name,
		       name);
}

/* An attempt is heard by who started it, and ended by it. */
static void be_attempt(struct loop_options *wish, struct loop_run *run,
		       unsigned attempt)
{
	run->attempt = attempt;
	if (!attempt)
		return;
	run->hook = NULL;
	run->view.live = false;
	wish->keep = wish->fresh = true;
	wish->tasks = false;
}

int loop_start(struct loop_options *wish, const char *name, unsigned attempt,
	       struct error *err)
{
	AUTO_LOOP_RUN struct loop_run run = LOOP_RUN_INIT;
	AUTO_MCP_HOST struct mcp_host mcp = { 0 };
	bool resumed = false, ran_before = false;
	int failed;

	run.argv = (const char *const *)wish->argv;
	run.verify = wish->verify;
	run.hook = wish->hook;
	run.idle_ms = wish->idle_seconds * 1000;
	loop_view_init(&run.view, wish->json);
	be_attempt(wish, &run, attempt);
	run.workspace = ralph_workspace_open(wish->path, err);
	if (run.workspace < 0 ||
	    begin_state(wish, name, &run, &resumed, err) < 0 ||
	    make_tasks(wish, run.workspace, err) < 0)
		return -1;
	if (loop_make_sandbox(wish, name, &run, &ran_before, err) < 0) {
		fprintf(stderr, "bawn: %s\n", err->text);
		return run_status_exit(RUN_FAILED);
	}
	run.in_guest = loop_guest_owns_workspace(&run.sandbox.record);
	if (mcp_host_start(&mcp, &run.sandbox, wish->options, err) < 0 ||
	    loop_signals_open(&run.signals, err) < 0 ||
	    (run.in_guest && loop_guest_begin(&run, err) < 0))
		return -1;
	say_begin(&run, resumed);
	failed = run_engine(wish, &run, err);
	loop_view_clear(&run.view);
	if (failed == 0)
		loop_run_hook(&run);
	if (failed == 0)
		say_how_to_take(&run);
	end_sandbox(wish, &run, ran_before);
	return failed < 0 ? -1 : run_status_exit(run.state.status);
}

static int run(const struct options *options, struct error *err)
{
	AUTO_LOOP_OPTIONS struct loop_options wish = LOOP_OPTIONS_INIT;
	AUTO_FREE char *name = NULL;

	if (loop_options_place(&wish, options, err) < 0)
		return -1;
	name = loop_place_name(wish.agent, wish.path);
	if (options_flag(options, "print-name")) {
		printf("%s\n", name);
		return 0;
	}
	if (loop_ask_wanted(options))
		return loop_ask(options, &wish, err);
	if (loop_options_take(&wish, options, err) < 0)
		return -1;
	if (wish.attempts)
		return loop_attempts(&wish, name, err);
	return loop_start(&wish, name, 0, err);
}

const struct command command_loop = {
	.name = "loop",
	.arguments = "[AGENT] [PATH] [-- AGENT ARGS...]",
	.help = "run an agent again and again until the work is done",
	.details =
		"Each iteration is a fresh agent in the same sandbox with the "
		"prompt on its stdin.\nIt ends when the agent promises so in "
		"its last message (`bawn help loop` tells more).\nExit "
		"codes: 0 complete, 1 a limit was reached, 2 blocked, 3 a "
		"decision is needed,\n4 the sandbox failed, 5 the key was "
		"refused, 6 no such agent in the sandbox, 64 usage,\n130 "
		"interrupted. Ctrl-C once lets the iteration end, twice stops "
		"now.",
	.options = loop_option_rows,
	.options_too = loop_sandbox_rows,
	.options_more = sandbox_options,
	.completes = COMPLETE_RUN,
	.flags = COMMAND_TAKES_REST | COMMAND_USES_STORE,
	.max_words = 2,
	.failure_code = 125,
	.usage_code = 64,
	.run = run,
};

const struct command command_ralph = {
	.name = "loop",
	.arguments = "[PROMPT] [N] [-- AGENT ARGS...]",
	.help = "run an agent in this folder until the work is done",
	.details =
		"`bawn loop` with the words of other loops: a number is N, "
		"every other word belongs to\nthe prompt. Exit codes: 0 "
		"complete, 1 a limit was reached, 2 blocked, 3 a decision is\n"
		"needed; bawn-loop(1) has the others.",
	.options = loop_option_rows,
	.options_too = loop_sandbox_rows,
	.options_more = sandbox_options,
	.flags = COMMAND_TAKES_REST | COMMAND_USES_STORE,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 125,
	.usage_code = 64,
	.run = run,
};
