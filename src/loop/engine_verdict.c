/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_verdict.c - what a turn was, and what its promises are worth
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "loop/engine_internal.h"
#include "loop/fault.h"
#include "loop/output.h"

void engine_end(struct run *run, enum run_status status, const char *fmt, ...)
{
	struct run_state *state = run->engine->state;
	char text[sizeof(state->detail)];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	text_printable(text, strlen(text), state->detail,
		       sizeof(state->detail));
	state->status = status;
	run->over = true;
}

void engine_event(struct run *run, const char *name, json_t *details)
{
	run->engine->world->event(run->engine->ctx, name, details);
	json_decref(details);
}

/* The end of stderr on one line; false when there is none. */
static bool last_words(const struct output *output, struct turn *turn)
{
	const uint8_t *said = output->errors.data;
	size_t len = output->errors.len, cut = 0, put = 0;
	char line[sizeof(turn->error)];

	while (len && strchr(" \t\r\n", said[len - 1]))
		len--;
	if (len >= sizeof(line))
		cut = len - sizeof(line) + 1;
	for (; cut < len; cut++)
		line[put++] = said[cut] == '\n' ? ' ' : (char)said[cut];
	text_printable(line, put, turn->error, sizeof(turn->error));
	return put > 0;
}

/* One that said only that it waits for the network lost that. */
static bool is_silent(const struct turn *turn)
{
	return turn->end.end == ENGINE_TURN_SILENT && !turn->output->waiting;
}

static enum fault fault_of(const struct turn *turn)
{
	enum fault fault = fault_of_status(turn->output->status);

	if (is_silent(turn))
		return FAULT_OTHER;
	if (turn->output->failed && fault != FAULT_OTHER)
		return fault;
	return fault_of_text(turn->error, strlen(turn->error));
}

void engine_judge(struct turn *turn)
{
	const struct output *output = turn->output;
	if (turn->end.end == ENGINE_TURN_MISSING) {
		turn->fault = FAULT_MISSING;
		return;
	}
	if (is_silent(turn))
		(void)text_copy(turn->error, sizeof(turn->error),
				"no output for too long");
	else if (output->failed)
		(void)text_copy(turn->error, sizeof(turn->error),
				output->error[0] ? output->error
						 : "the agent failed");
	else if (turn->end.exit_code && !last_words(output, turn))
		(void)text_format(turn->error, sizeof(turn->error),
				  "exit code %d", turn->end.exit_code);
	if (!turn->error[0])
		return;
	turn->fault = fault_of(turn);
	/* an agent that went on to its own end has overcome what it met */
	if (!output->failed && turn->end.exit_code && output->ended &&
	    turn->fault != FAULT_AUTH)
		turn->fault = FAULT_OTHER;
}

json_t *engine_record(const struct turn *turn)
{
	const struct output *output = turn->output;
	char started[32] = "";
	time_t when = (time_t)turn->started;
	struct tm tm;

	if (gmtime_r(&when, &tm))
		(void)strftime(started, sizeof(started), "%Y-%m-%dT%H:%M:%SZ",
			       &tm);
	return json_pack(
		"{s:i, s:s, s:f, s:i, s:I, s:I, s:f, s:s, s:s, s:s, s:s, s:i, "
		"s:s}",
		"iteration", (int)turn->number, "started", started, "seconds",
		turn->seconds, "exit_code", turn->end.exit_code, "tokens_in",
		(json_int_t)output->tokens_in, "tokens_out",
		(json_int_t)output->tokens_out, "cost_usd",
		(double)output->cost_micros / 1e6, "fault",
		fault_name(turn->fault), "error", turn->error, "promise",
		promise_name(turn->promises.kind), "promise_text",
		turn->promises.text, "actions", (int)output->actions, "task",
		turn->task);
}

static int verify(struct run *run, struct turn *turn, struct error *err)
{
	struct engine *engine = run->engine;
	AUTO_BUFFER struct buffer said = BUFFER_INIT(FEEDBACK_MAX / 2);
	const char *text;
	int code = 0;

	if (!engine->world->verify)
		return 1;
	engine_event(run, "verify", NULL);
	if (engine->world->verify(engine->ctx, &said, &code, err) < 0)
		return -1;
	(void)text_copy(turn->verify, sizeof(turn->verify),
			code ? "failed" : "passed");
	if (!code)
		return 1;
	turn->refused = "verify";
	text = buffer_str(&said);
	(void)text_format(run->feedback, sizeof(run->feedback),
			  "You promised that all is done, but the check ended "
			  "with code %d. It said:\n%s",
			  code, text ? text : "");
	engine_event(run, "refused",
		     json_pack("{s:s, s:i}", "why", "verify", "code", code));
	return 0;
}

/* -1: the sandbox failed. */
static int complete(struct run *run, struct turn *turn, struct error *err)
{
	const struct run_state *state = run->engine->state;
	size_t open = tasks_open(&run->tasks);
	int verified;

	if (run->tasks_bad[0]) {
		turn->refused = "tasks";
		(void)text_format(run->feedback, sizeof(run->feedback),
				  "You promised that all is done, but the list "
				  "of tasks cannot be read: %s",
				  run->tasks_bad);
		engine_event(run, "refused",
			     json_pack("{s:s}", "why", "tasks"));
		return 0;
	}
	if (open) {
		const struct task *task = tasks_next(&run->tasks);

		turn->refused = "tasks";
		(void)text_format(run->feedback, sizeof(run->feedback),
				  "You promised that all is done, but %zu of "
				  "the tasks %s open, first %s: %s",
				  open, open == 1 ? "is" : "are", task->id,
				  task->title);
		engine_event(run, "refused",
			     json_pack("{s:s, s:I}", "why", "tasks", "open",
				       (json_int_t)open));
		return 0;
	}
	if (state->iteration < state->min_iterations) {
		turn->refused = "minimum";
		(void)text_format(run->feedback, sizeof(run->feedback),
				  "You promised that all is done, but at least "
				  "%u iterations are wanted: look for what is "
				  "missing or could be better.",
				  state->min_iterations);
		engine_event(run, "refused",
			     json_pack("{s:s}", "why", "minimum"));
		return 0;
	}
	verified = verify(run, turn, err);
	if (verified > 0)
		engine_end(run, RUN_COMPLETE, "%s",
			   turn->verify[0] ? "promised and checked"
					   : "promised");
	return verified < 0 ? -1 : 0;
}

int engine_heed_promise(struct run *run, struct turn *turn, struct error *err)
{
	switch (turn->promises.kind) {
	case PROMISE_COMPLETE:
		return complete(run, turn, err);
	case PROMISE_BLOCKED:
		engine_end(run, RUN_BLOCKED, "%s", turn->promises.text);
		break;
	case PROMISE_DECIDE:
		engine_end(run, RUN_DECIDE, "%s", turn->promises.text);
		break;
	case PROMISE_ABORT:
		engine_end(run, RUN_LIMIT, "the agent gave up");
		break;
	case PROMISE_NONE:
	case PROMISE_KINDS:
		break;
	}
	return 0;
}
