/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.c - the loop: one turn of a fresh agent after another
 */
#include "loop/engine.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "loop/engine_internal.h"
#include "loop/fault.h"
#include "loop/output.h"
#include "loop/prompt.h"
#include "loop/ralph_folder.h"

#define WAITS_MAX 60 /* one after another */
#define HOUR 3600.0

AUTO_DEFINE(json, json_t *, json_decref)

static int save(struct run *run, const json_t *record, struct error *err)
{
	struct engine *engine = run->engine;

	engine->state->heartbeat = engine->world->clock(engine->ctx);
	run->saved = true;
	return engine->world->save(engine->ctx, engine->state, record, err);
}

static void wait_for(struct run *run, uint64_t seconds, const char *why)
{
	struct engine *engine = run->engine;

	run->saved = false;
	engine_event(run, "wait",
		     json_pack("{s:I, s:s}", "seconds", (json_int_t)seconds,
			       "why", why));
	if (!engine->world->wait(engine->ctx, seconds, why))
		engine_end(run, RUN_INTERRUPTED, "stopped while it waited");
}

static double passed(const struct run *run)
{
	const struct engine *engine = run->engine;

	return (double)(engine->world->clock(engine->ctx) -
			engine->state->started);
}

/* What may end the run before a turn begins. */
static void check_limits(struct run *run)
{
	const struct engine *engine = run->engine;
	const struct engine_limits *limits = &engine->limits;
	const struct run_state *state = engine->state;

	if (engine->world->stop_wishes(engine->ctx))
		engine_end(run, RUN_INTERRUPTED, "stopped");
	else if (state->iteration >= state->max_iterations)
		engine_end(run, RUN_LIMIT, "%u iteration%s done",
			   state->iteration,
			   state->iteration == 1 ? " is" : "s are");
	else if (limits->max_seconds &&
		 passed(run) >= (double)limits->max_seconds)
		engine_end(run, RUN_LIMIT, "the time is over (--max-time)");
	else if (limits->max_cost_micros &&
		 state->cost_micros >= limits->max_cost_micros)
		engine_end(run, RUN_LIMIT, "%.2f USD are spent (--max-cost)",
			   (double)state->cost_micros / 1e6);
}

/* A turn may begin when fewer than the limit did within the last hour. */
static void keep_pace(struct run *run)
{
	struct engine *engine = run->engine;
	unsigned max = engine->limits.max_calls_hour;
	double now = engine->world->now(engine->ctx), oldest;

	if (max > PACE_MAX)
		max = PACE_MAX;
	if (!max)
		return;
	oldest = run->begun[(run->turns + PACE_MAX - max) % PACE_MAX];
	if (run->turns >= max && now - oldest < HOUR)
		wait_for(run, (uint64_t)(HOUR - (now - oldest)) + 1,
			 "--max-calls-per-hour");
	run->begun[run->turns++ % PACE_MAX] = engine->world->now(engine->ctx);
}

static int make_prompt(struct run *run, struct buffer *out, struct error *err)
{
	struct engine *engine = run->engine;
	AUTO_BUFFER struct buffer context = BUFFER_INIT(RALPH_CONTEXT_MAX);
	struct prompt_parts parts = {
		.prompt = engine->state->prompt,
		.iteration = engine->state->iteration + 1,
		.max_iterations = engine->state->max_iterations,
		.tasks = &run->tasks,
		.tasks_file = run->tasks_file,
		.feedback = run->feedback,
		.struggle = run->struggle,
		.words = &engine->words,
	};
	const char *text;

	engine->world->context(engine->ctx, &context);
	/* what was taken before a turn that does not count is not lost */
	if (run->context.len)
		buffer_append(&run->context, "\n", 1);
	(void)buffer_append(&run->context, context.data, context.len);
	text = buffer_str(&run->context);
	parts.context = text ? text : "";
	if (context.len)
		engine_event(
			run, "context",
			json_pack("{s:I}", "bytes", (json_int_t)context.len));
	return prompt_make(engine->template, &parts, out, err);
}

static void read_tasks(struct run *run)
{
	struct engine *engine = run->engine;
	struct error err = { 0 };

	tasks_release(&run->tasks);
	run->tasks_bad[0] = '\0';
	run->tasks_file = "";
	if (engine->world->tasks(engine->ctx, &run->tasks, &run->tasks_file,
				 &err) == 0)
		return;
	tasks_release(&run->tasks);
	(void)text_copy(run->tasks_bad, sizeof(run->tasks_bad), err.text);
	engine_event(run, "tasks_unreadable",
		     json_pack("{s:s}", "error", run->tasks_bad));
}

/* The promises, and what became of the tasks. */
static void take_promises(struct run *run, struct turn *turn)
{
	struct engine *engine = run->engine;
	size_t before = tasks_done(&run->tasks);

	/* the words of a turn that failed are no promise */
	if (turn->fault == FAULT_NONE && turn->end.end == ENGINE_TURN_EXITED)
		promises_parse((const char *)turn->output->message.data,
			       turn->output->message.len, &engine->words,
			       &turn->promises);
	for (size_t i = 0; i < turn->promises.done_count; i++)
		engine->world->task_done(engine->ctx, turn->promises.done[i]);
	read_tasks(run);
	turn->progress = tasks_done(&run->tasks) > before;
}

/* After a turn that counts and did not end the run. */
static void watch_progress(struct run *run, const struct turn *turn)
{
	struct engine *engine = run->engine;
	struct breaker *breaker = &engine->state->breaker;
	struct breaker_facts facts = {
		.changed = turn->changed || turn->progress,
		.seconds = turn->seconds,
		.signature = turn->error[0]
				     ? fault_signature(turn->error,
						       strlen(turn->error))
				     : 0,
	};
	const char *trip;

	breaker_note(breaker, &facts);
	breaker_struggle(breaker, run->struggle, sizeof(run->struggle));
	if (run->struggle[0])
		engine_event(run, "struggle",
			     json_pack("{s:s}", "signs", run->struggle));
	trip = breaker_trip(breaker);
	if (!trip)
		return;
	engine_event(run, "breaker", json_pack("{s:s}", "why", trip));
	if (!engine->limits.auto_reset) {
		engine_end(run, RUN_LIMIT, "the breaker: %s", trip);
		return;
	}
	/* a limit that is reached already is not waited for */
	check_limits(run);
	if (!run->over)
		wait_for(run, engine->limits.cooldown_seconds, "breaker");
	breaker_half_open(breaker);
}

/* Faults that end the run or only delay it; true: the turn does not count. */
static bool heed_fault(struct run *run, const struct turn *turn)
{
	const struct engine *engine = run->engine;
	bool waits = turn->fault == FAULT_RATE || turn->fault == FAULT_NETWORK;

	if (turn->fault == FAULT_AUTH)
		engine_end(run, RUN_AUTH, "%s", turn->error);
	else if (turn->fault == FAULT_MISSING)
		engine_end(run, RUN_MISSING,
			   "the sandbox has no program of "
			   "this agent");
	else if (turn->end.end == ENGINE_TURN_STOPPED)
		engine_end(run, RUN_INTERRUPTED, "stopped");
	else if (turn->end.end == ENGINE_TURN_OVERDUE)
		engine_end(run, RUN_LIMIT, "the time is over (--max-time)");
	if (run->over)
		return false;
	if (!waits) {
		run->waits_in_row = 0;
		return false;
	}
	if (run->waits_in_row >= WAITS_MAX || engine->limits.once)
		engine_end(run, RUN_LIMIT, "waited in vain: %s", turn->error);
	return true;
}

static void wait_out(struct run *run, const struct turn *turn)
{
	struct engine *engine = run->engine;
	uint64_t retry = fault_retry_seconds(turn->error, strlen(turn->error));

	engine->state->waits++;
	wait_for(run,
		 breaker_backoff(engine->limits.backoff_seconds,
				 run->waits_in_row++, retry),
		 turn->fault == FAULT_RATE ? "rate limit" : "network");
}

static uint64_t time_left(const struct run *run)
{
	uint64_t max = run->engine->limits.max_seconds;
	double left = (double)max - passed(run);

	if (!max)
		return 0;
	return left > 1 ? (uint64_t)left : 1;
}

static int run_turn(struct run *run, struct turn *turn, struct error *err)
{
	struct engine *engine = run->engine;
	AUTO_BUFFER struct buffer prompt = BUFFER_INIT(PROMPT_MAX);
	const struct task *task = tasks_next(&run->tasks);
	const char *text;
	double begun;

	if (make_prompt(run, &prompt, err) < 0)
		return -1;
	text = buffer_str(&prompt);
	if (!text)
		return error_set(err, 0, "the prompt is too long");
	if (task)
		(void)text_format(turn->task, sizeof(turn->task), "%s: %s",
				  task->id, task->title);
	engine_event(run, "iteration",
		     json_pack("{s:i, s:i, s:s}", "iteration",
			       (int)engine->state->iteration + 1, "max",
			       (int)engine->state->max_iterations, "task",
			       turn->task));
	if (engine->world->before(engine->ctx, engine->state->iteration + 1,
				  err) < 0)
		return -1;
	turn->number = engine->state->iteration + 1;
	turn->started = engine->world->clock(engine->ctx);
	turn->end.deadline_seconds = time_left(run);
	begun = engine->world->now(engine->ctx);
	if (engine->world->turn(engine->ctx, text, turn->output, &turn->end,
				err) < 0)
		return -1;
	turn->seconds = engine->world->now(engine->ctx) - begun;
	output_finish(turn->output, text);
	return 0;
}

static void count(struct run *run, const struct turn *turn)
{
	struct run_state *state = run->engine->state;

	state->tokens_in += turn->output->tokens_in;
	state->tokens_out += turn->output->tokens_out;
	state->cost_micros += turn->output->cost_micros;
	state->agent_seconds += turn->seconds;
}

/* A turn that ended with an error leaves nothing, where that is wanted. */
static void roll_back(struct run *run, struct turn *turn)
{
	struct engine *engine = run->engine;
	struct error err = { 0 };

	if (!engine->world->rollback || turn->fault != FAULT_OTHER)
		return;
	if (engine->world->rollback(engine->ctx, &err) < 0)
		engine_end(run, RUN_FAILED, "%s", err.text);
	else
		engine_event(run, "rollback", NULL);
	turn->changed = false;
}

/* What a turn that was run means. */
static int conclude(struct run *run, struct turn *turn, struct error *err)
{
	AUTO(json) json_t *record = NULL;
	bool delayed;
	int failed = 0;

	engine_judge(turn);
	count(run, turn);
	take_promises(run, turn);
	delayed = heed_fault(run, turn);
	if (!delayed && turn->end.end != ENGINE_TURN_STOPPED) {
		run->engine->state->iteration++;
		run->feedback[0] = '\0';
		buffer_consume(&run->context, run->context.len);
	}
	if (!delayed && !run->over)
		failed = engine_heed_promise(run, turn, err);
	record = engine_record(turn);
	if (turn->verify[0])
		json_object_set_new(record, "verify",
				    json_string(turn->verify));
	if (turn->refused)
		json_object_set_new(record, "refused",
				    json_string(turn->refused));
	turn->changed = run->engine->world->after(run->engine->ctx, record);
	engine_event(run, "turn", json_incref(record));
	if (failed < 0) {
		engine_end(run, RUN_FAILED, "%s", err->text);
	} else if (!delayed && !run->over) {
		if (turn->error[0] && !run->feedback[0])
			(void)text_format(run->feedback, sizeof(run->feedback),
					  "It ended with an error: %s",
					  turn->error);
		roll_back(run, turn);
		if (!run->over)
			watch_progress(run, turn);
	}
	if (run->engine->limits.once && !run->over)
		engine_end(run, RUN_LIMIT, "one iteration was asked for");
	if (save(run, record, err) < 0)
		return -1;
	if (delayed && !run->over)
		wait_out(run, turn);
	return 0;
}

static int step(struct run *run, struct error *err)
{
	AUTO_OUTPUT struct output output;
	struct turn turn = { .output = &output };
	struct error failure = { 0 };

	output_init(&output, (enum output_format)run->engine->format);
	check_limits(run);
	if (!run->over)
		keep_pace(run);
	if (run->over)
		return 0;
	/* Not again right after the turn before: each is a file to replace. */
	if (!run->saved && save(run, NULL, err) < 0)
		return -1;
	run->saved = false;
	read_tasks(run);
	if (run_turn(run, &turn, &failure) < 0) {
		engine_end(run, RUN_FAILED, "%s", failure.text);
		return 0;
	}
	return conclude(run, &turn, err);
}

int engine_run(struct engine *engine, struct error *err)
{
	struct run run = { .engine = engine,
			   .tasks = TASK_LIST_INIT,
			   .tasks_file = "",
			   .context = BUFFER_INIT(2 * RALPH_CONTEXT_MAX) };
	int failed = 0;

	breaker_struggle(&engine->state->breaker, run.struggle,
			 sizeof(run.struggle));
	while (!run.over && failed == 0)
		failed = step(&run, err);
	if (failed == 0) {
		engine->state->ended = engine->world->clock(engine->ctx);
		engine_event(&run, "end",
			     json_pack("{s:s, s:s, s:i}", "status",
				       run_status_name(engine->state->status),
				       "detail", engine->state->detail,
				       "iterations",
				       (int)engine->state->iteration));
		failed = save(&run, NULL, err);
	}
	tasks_release(&run.tasks);
	buffer_release(&run.context);
	return failed;
}
