/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_run.c - a loop in a real sandbox
 */
#include "cli/loop_run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/loop_doing.h"
#include "cli/loop_guest.h"
#include "loop/output.h"
#include "loop/ralph_folder.h"

#define TASKS_MARKDOWN RALPH_FOLDER "/" RALPH_TASKS
#define TASKS_JSON ".agent/tasks.json"
#define STEERING ".agent/STEERING.md"
#define BEAT_MS 10000

AUTO_DEFINE(json, json_t *, json_decref)

void loop_run_release(struct loop_run *run)
{
	loop_checkpoint_release(&run->checkpoint);
	sandbox_close(&run->sandbox);
	json_decref(run->keys);
	if (run->workspace >= 0)
		close(run->workspace);
	if (run->folder >= 0)
		close(run->folder);
	if (run->lock >= 0)
		close(run->lock);
	run_state_release(&run->state);
	loop_signals_close(&run->signals);
}

static void take_output(void *ctx, bool is_error, const void *bytes, size_t len)
{
	struct loop_run *run = ctx;

	if (is_error)
		output_feed_errors(run->output, bytes, len);
	else
		output_feed(run->output, bytes, len);
}

static void beat(struct loop_run *run)
{
	uint64_t now = loop_now_ms();
	struct error err = { 0 };

	if (now - run->beat_ms < BEAT_MS)
		return;
	run->beat_ms = now;
	run->state.heartbeat = (int64_t)time(NULL);
	if (run_state_save(run->folder, &run->state, &err) < 0)
		log_warn("%s", err.text);
}

static void on_tick(void *ctx)
{
	struct loop_run *run = ctx;
	unsigned denied = 0;

	beat(run);
	if (!run->view.live)
		return;
	denied = loop_facts_denied(&run->facts, &run->sandbox);
	loop_view_tick(&run->view, &run->state, run->output, denied);
}

static void on_wish(void *ctx)
{
	struct loop_run *run = ctx;

	loop_view_event(&run->view, "stopping", NULL);
}

/* Scripts and hooks of a project may want to know. */
static json_t *variables_of(const struct loop_run *run)
{
	char number[16];

	(void)text_format(number, sizeof(number), "%u", run->iteration);
	return json_pack("{s:s, s:s}", "RALPH_ITERATION", number, "RALPH_LOOP",
			 run->state.name);
}

static bool is_waiting(void *ctx)
{
	const struct loop_run *run = ctx;

	return run->output && run->output->waiting;
}

static int turn(void *ctx, const char *prompt, struct output *output,
		struct engine_turn *end, struct error *err)
{
	struct loop_run *run = ctx;
	AUTO(json) json_t *variables = variables_of(run);
	const struct loop_turn one = {
		.sandbox = &run->sandbox,
		.keys = run->keys,
		.variables = variables,
		.argv = run->argv,
		.input = prompt,
		.idle_ms = run->idle_ms,
		.limit_ms = end->deadline_seconds * 1000,
		.signals = &run->signals,
		.on_output = take_output,
		.is_waiting = is_waiting,
		.on_tick = on_tick,
		.on_wish = on_wish,
		.ctx = run,
	};

	run->output = output;
	return loop_turn_run(&one, end, err);
}

/* The end of what a check says is what it found. */
static void take_said(void *ctx, bool is_error, const void *bytes, size_t len)
{
	struct loop_run *run = ctx;
	struct buffer *said = run->said;

	(void)is_error;
	if (len > said->max) {
		bytes = (const char *)bytes + (len - said->max);
		len = said->max;
	}
	if (said->len + len > said->max)
		buffer_consume(said, said->len + len - said->max);
	(void)buffer_append(said, bytes, len);
}

static int verify(void *ctx, struct buffer *said, int *exit_code,
		  struct error *err)
{
	struct loop_run *run = ctx;
	const char *const argv[] = { "sh", "-c", run->verify, NULL };
	AUTO(json) json_t *variables = variables_of(run);
	struct engine_turn end = { 0 };
	AUTO_BUFFER struct buffer bytes = BUFFER_INIT(said->max / 4 - 1);
	AUTO_OUTPUT struct output shown; /* what it is doing, for who watches */
	const struct loop_turn one = { .sandbox = &run->sandbox,
				       .keys = run->keys,
				       .variables = variables,
				       .argv = argv,
				       .input = "",
				       .idle_ms = run->idle_ms,
				       .signals = &run->signals,
				       .on_output = take_said,
				       .on_tick = on_tick,
				       .on_wish = on_wish,
				       .ctx = run };

	output_init(&shown, OUTPUT_TEXT);
	(void)text_format(shown.action, sizeof(shown.action), "checks");
	run->output = &shown;
	run->said = &bytes;
	if (loop_turn_run(&one, &end, err) < 0)
		return -1;
	*exit_code = end.end == ENGINE_TURN_EXITED ? end.exit_code : 1;
	for (size_t i = 0; i < bytes.len; i++)
		if (!bytes.data[i])
			bytes.data[i] = '?';
	return buffer_append(said, bytes.data, bytes.len);
}

static bool wait_for(void *ctx, uint64_t seconds, const char *why)
{
	struct loop_run *run = ctx;
	uint64_t end = loop_now_ms() + seconds * 1000, now;
	struct pollfd signal = { run->signals.fd, POLLIN, 0 };

	while (!run->signals.wishes && (now = loop_now_ms()) < end) {
		uint64_t left = end - now;

		loop_view_wait(&run->view, (left + 999) / 1000, why);
		(void)poll(&signal, 1, left > 1000 ? 1000 : (int)left);
		loop_signals_read(&run->signals);
		beat(run);
	}
	loop_view_clear(&run->view);
	return !run->signals.wishes;
}

static unsigned stop_wishes(void *ctx)
{
	struct loop_run *run = ctx;

	loop_signals_read(&run->signals);
	return run->signals.wishes;
}

static double now(void *ctx)
{
	(void)ctx;
	return (double)loop_now_ms() / 1000;
}

static int64_t clock_now(void *ctx)
{
	(void)ctx;
	return (int64_t)time(NULL);
}

int loop_run_tasks(int workspace, struct task_list *list, char *file,
		   size_t size, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TASKS_BYTES_MAX);
	int got = ralph_read(workspace, TASKS_MARKDOWN, &text, err);

	(void)text_copy(file, size, TASKS_MARKDOWN);
	if (got < 0)
		return -1;
	if (got)
		return tasks_parse_markdown((const char *)text.data, text.len,
					    list, err);
	got = ralph_read(workspace, TASKS_JSON, &text, err);
	if (got <= 0)
		return got;
	(void)text_copy(file, size, TASKS_JSON);
	if (tasks_parse_json((const char *)text.data, text.len, list, err) < 0)
		return error_prefix(err, TASKS_JSON);
	return 0;
}

static int tasks(void *ctx, struct task_list *list, const char **file,
		 struct error *err)
{
	struct loop_run *run = ctx;

	*file = run->tasks_file;
	if (run->attempt)
		return 0; /* it has one, in its prompt */
	if (run->in_guest)
		return loop_guest_tasks(run, list, err);
	return loop_run_tasks(run->workspace, list, run->tasks_file,
			      sizeof(run->tasks_file), err);
}

void loop_run_mark_done(int workspace, const char *id)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TASKS_BYTES_MAX);
	AUTO_BUFFER struct buffer marked = BUFFER_INIT(TASKS_BYTES_MAX);
	struct error err = { 0 };

	if (ralph_read(workspace, TASKS_MARKDOWN, &text, &err) > 0 &&
	    tasks_mark((const char *)text.data, text.len, id, TASK_DONE,
		       &marked) == 0 &&
	    ralph_write(workspace, RALPH_TASKS, marked.data, marked.len, &err) <
		    0)
		log_warn("%s", err.text);
}

static void task_done(void *ctx, const char *id)
{
	struct loop_run *run = ctx;
	struct error err = { 0 };

	if (run->attempt)
		return;
	if (!run->in_guest)
		loop_run_mark_done(run->workspace, id);
	else if (loop_guest_task_done(run, id, &err) < 0)
		log_warn("%s", err.text);
}

/* NUL would end the prompt. */
static void add_clean(struct buffer *out, const struct buffer *text)
{
	for (size_t i = 0; i < text->len; i++)
		if (text->data[i])
			(void)buffer_append(out, &text->data[i], 1);
}

static void guest_context(struct loop_run *run, struct buffer *out)
{
	AUTO_BUFFER struct buffer said = BUFFER_INIT(RALPH_CONTEXT_MAX);
	struct error err = { 0 };

	if (loop_guest_context(run, &said, &err) < 0)
		log_warn("%s", err.text);
	else
		add_clean(out, &said);
}

static void context(void *ctx, struct buffer *out)
{
	struct loop_run *run = ctx;
	AUTO_BUFFER struct buffer taken = BUFFER_INIT(RALPH_CONTEXT_MAX);
	AUTO_BUFFER struct buffer steering = BUFFER_INIT(RALPH_CONTEXT_MAX);
	struct error err = { 0 };

	if (run->attempt)
		return; /* whoever is first would take it from the others */
	if (run->in_guest)
		guest_context(run, out);
	if (ralph_take_context(run->workspace, &taken, &err) < 0)
		log_warn("%s", err.text);
	else
		add_clean(out, &taken);
	if (ralph_read(run->workspace, STEERING, &steering, &err) > 0)
		add_clean(out, &steering);
}

static void say_no_checkpoint(struct loop_run *run, const struct error *err)
{
	AUTO(json) json_t *details = json_pack("{s:s}", "error", err->text);

	loop_view_event(&run->view, "checkpoint_failed", details);
}

/* The copy of the one before is done by now, or this waits for it. */
static int make_checkpoint(struct loop_run *run, struct error *err)
{
	struct error late = { 0 };

	if (loop_checkpoint_wait(&run->checkpoint, &late) < 0)
		say_no_checkpoint(run, &late);
	if (loop_checkpoint_begin(&run->checkpoint, &run->sandbox,
				  run->iteration, run->facts.label, run->lock,
				  err) == 0)
		return 0;
	if (run->must_checkpoint)
		return -1;
	say_no_checkpoint(run, err);
	return 0;
}

static int before(void *ctx, unsigned iteration, struct error *err)
{
	struct loop_run *run = ctx;

	run->iteration = iteration;
	loop_facts_begin(&run->facts, &run->sandbox, iteration);
	return run->checkpoints ? make_checkpoint(run, err) : 0;
}

static int rollback(void *ctx, struct error *err)
{
	struct loop_run *run = ctx;

	return loop_checkpoint_restore(&run->checkpoint, &run->sandbox, err);
}

static bool after(void *ctx, json_t *record)
{
	struct loop_run *run = ctx;

	bool changed;

	if (run->checkpoint.label[0])
		json_object_set_new(record, "checkpoint",
				    json_string(run->checkpoint.label));
	changed = loop_facts_end(&run->facts, &run->sandbox, record);
	return run->in_guest ? loop_guest_files(run, record) : changed;
}

static void on_event(void *ctx, const char *name, const json_t *details)
{
	struct loop_run *run = ctx;

	if (!strcmp(name, "iteration"))
		loop_doing_note(run->folder, run->attempt, details);
	loop_view_event(&run->view, name, details);
}

/* A copy for who looks into the workspace; its failure stops nothing. */
static void save_view(const struct loop_run *run, const char *name,
		      json_t *json)
{
	AUTO_FREE char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;
	struct error err = { 0 };

	if (text &&
	    ralph_write(run->workspace, name, text, strlen(text), &err) < 0)
		log_debug("%s", err.text);
	json_decref(json);
}

static int save(void *ctx, const struct run_state *state, const json_t *record,
		struct error *err)
{
	struct loop_run *run = ctx;
	AUTO(json) json_t *records = NULL;

	if (record && run_history_append(run->folder, record, err) < 0)
		return -1;
	if (run_state_save(run->folder, state, err) < 0)
		return -1;
	if (run->attempt)
		return 0;
	save_view(run, RALPH_STATE, run_state_encode(state));
	if (!record)
		return 0;
	records = run_history_load(run->folder, NULL);
	save_view(run, RALPH_HISTORY,
		  records ? run_history_view(state, records) : NULL);
	return 0;
}

const struct engine_world loop_run_world = {
	.turn = turn,
	.verify = verify,
	.wait = wait_for,
	.stop_wishes = stop_wishes,
	.now = now,
	.clock = clock_now,
	.tasks = tasks,
	.task_done = task_done,
	.context = context,
	.before = before,
	.after = after,
	.rollback = rollback,
	.event = on_event,
	.save = save,
};
