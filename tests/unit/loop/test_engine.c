/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_engine.c - unit tests of loop/engine.h, in a world of scripts
 */
#include "loop/engine.h"

#include "base/buffer.h"
#include "base/error.h"
#include "lib/tap.h"
#include "loop/output.h"

#define COMPLETE "<promise>COMPLETE</promise>\n"

/* What each turn says; "!" first: on stderr with exit code 1. */
struct script {
	const char *const *says;
	const char *tasks;      /* Markdown; NULL: none */
	unsigned tasks_done_at; /* iteration from which all are done */
	unsigned verify_fails;  /* so many times */
	bool has_verify, changes, sandbox_fails, has_rollback;
	enum engine_end end;
	unsigned stop_at; /* turn that is the last, by the user's wish */
	const char *context;
	unsigned turns, waits, verified, saves, records, rollbacks;
	uint64_t waited;
	double time;
	char last_prompt[20000];
	char events[4000];
};

static int turn(void *ctx, const char *prompt, struct output *output,
		struct engine_turn *turn, struct error *err)
{
	struct script *script = ctx;
	unsigned at = 0;
	const char *says;

	/* the last one for ever */
	while (at < script->turns && script->says[at + 1])
		at++;
	says = script->says[at];
	if (script->sandbox_fails)
		return error_set(err, 0, "the machine is gone");
	script->turns++;
	snprintf(script->last_prompt, sizeof(script->last_prompt), "%s",
		 prompt);
	turn->end = script->end;
	turn->exit_code = says[0] == '!';
	script->time += 100;
	if (says[0] == '~') {
		turn->end = ENGINE_TURN_SILENT;
		output->waiting = output->failed = true;
		snprintf(output->error, sizeof(output->error), "%s", says + 1);
	} else if (says[0] == '!')
		output_feed_errors(output, says + 1, strlen(says + 1));
	else
		output_feed(output, says, strlen(says));
	return 0;
}

static int verify(void *ctx, struct buffer *said, int *exit_code,
		  struct error *err)
{
	struct script *script = ctx;

	(void)err;
	buffer_printf(said, "2 tests fail");
	*exit_code = script->verified++ < script->verify_fails;
	return 0;
}

static bool wait_for(void *ctx, uint64_t seconds, const char *why)
{
	struct script *script = ctx;

	(void)why;
	script->waits++;
	script->waited += seconds;
	script->time += (double)seconds;
	return true;
}

static unsigned stop_wishes(void *ctx)
{
	struct script *script = ctx;

	return script->stop_at && script->turns >= script->stop_at;
}

static double now(void *ctx)
{
	return ((struct script *)ctx)->time;
}

static int64_t clock_now(void *ctx)
{
	return 1000 + (int64_t)((struct script *)ctx)->time;
}

static int tasks(void *ctx, struct task_list *list, const char **file,
		 struct error *err)
{
	struct script *script = ctx;

	*file = "tasks.md";
	if (!script->tasks)
		return 0;
	if (script->tasks[0] == '!')
		return error_set(err, 0, "broken");
	if (script->tasks_done_at && script->turns >= script->tasks_done_at)
		return tasks_parse_markdown("- [x] a", 7, list, err);
	return tasks_parse_markdown(script->tasks, strlen(script->tasks), list,
				    err);
}

static void task_done(void *ctx, const char *id)
{
	struct script *script = ctx;

	CHECK(!strcmp(id, "A-1"));
	script->tasks = "- [x] A-1: x";
}

static void context(void *ctx, struct buffer *out)
{
	struct script *script = ctx;

	if (script->context)
		buffer_printf(out, "%s", script->context);
	script->context = NULL;
}

static int before(void *ctx, unsigned iteration, struct error *err)
{
	(void)ctx;
	(void)iteration;
	(void)err;
	return 0;
}

static int rollback(void *ctx, struct error *err)
{
	struct script *script = ctx;

	(void)err;
	script->rollbacks++;
	return 0;
}

static bool after(void *ctx, json_t *record)
{
	(void)record;
	return ((struct script *)ctx)->changes;
}

static void on_event(void *ctx, const char *name, const json_t *details)
{
	struct script *script = ctx;
	size_t at = strlen(script->events);

	(void)details;
	snprintf(script->events + at, sizeof(script->events) - at, "%s ", name);
}

static int save(void *ctx, const struct run_state *state, const json_t *record,
		struct error *err)
{
	struct script *script = ctx;

	(void)state;
	(void)err;
	script->saves++;
	script->records += record != NULL;
	return 0;
}

static struct engine_world world = {
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
	.event = on_event,
	.save = save,
};

static char name[] = "n", agent[] = "shell", folder[] = "/w",
	    prompt[] = "do the work";
static struct run_state state;
static struct engine_limits limits;

static enum run_status run(struct script *script, unsigned max)
{
	struct engine engine = { .world = &world,
				 .ctx = script,
				 .limits = limits,
				 .words = { "COMPLETE", "ABORT", NULL },
				 .format = OUTPUT_TEXT,
				 .state = &state };
	struct engine_world own = world;

	if (!script->has_verify)
		own.verify = NULL;
	if (script->has_rollback)
		own.rollback = rollback;
	engine.world = &own;
	if (!engine.limits.backoff_seconds)
		engine.limits.backoff_seconds = 5;
	state.name = name;
	state.agent = agent;
	state.workspace = folder;
	state.prompt = prompt;
	if (!state.started)
		state.started = 1000;
	state.max_iterations = max;
	CHECK(engine_run(&engine, NULL) == 0);
	limits = (struct engine_limits){ 0 };
	return state.status;
}

static void fresh(void)
{
	state = (struct run_state){ .status = RUN_RUNNING };
}

#define SAYS(...)                 \
	(const char *const[])     \
	{                         \
		__VA_ARGS__, NULL \
	}

static void a_promise_completes_the_run(void)
{
	struct script script = { .says = SAYS("working", COMPLETE) };

	fresh();
	script.changes = true;
	CHECK(run(&script, 30) == RUN_COMPLETE);
	CHECK(state.iteration == 2 && script.records == 2);
	CHECK(strstr(script.last_prompt, "do the work"));
	CHECK(strstr(script.events, "end "));
}

static void completion_on_the_last_iteration_is_no_cap(void)
{
	struct script script = { .says = SAYS("a", "b", COMPLETE),
				 .changes = true };

	fresh();
	CHECK(run(&script, 3) == RUN_COMPLETE);
	script = (struct script){ .says = SAYS("a", "b", "c", COMPLETE),
				  .changes = true };
	fresh();
	CHECK(run(&script, 3) == RUN_LIMIT && state.iteration == 3);
}

static void blocked_and_decide_stop_at_once(void)
{
	struct script script = { .says = SAYS(
					 "<promise>BLOCKED:no key</promise>") };

	fresh();
	CHECK(run(&script, 9) == RUN_BLOCKED);
	CHECK(!strcmp(state.detail, "no key"));
	script = (struct script){ .says = SAYS(
					  "<promise>DECIDE:a or b</promise>") };
	fresh();
	CHECK(run(&script, 9) == RUN_DECIDE);
	CHECK(!strcmp(state.detail, "a or b"));
	script = (struct script){ .says = SAYS("<promise>ABORT</promise>") };
	fresh();
	CHECK(run(&script, 9) == RUN_LIMIT);
}

static void complete_is_refused_while_a_task_is_open(void)
{
	struct script script = { .says = SAYS(COMPLETE, COMPLETE, COMPLETE),
				 .tasks = "- [ ] A-1: x",
				 .tasks_done_at = 3,
				 .changes = true };

	fresh();
	CHECK(run(&script, 9) == RUN_COMPLETE);
	CHECK(state.iteration == 3);
	CHECK(strstr(script.last_prompt, "1 of the tasks is open"));
}

static void a_done_task_is_marked(void)
{
	struct script script = {
		.says = SAYS("<promise>A-1:DONE</promise>\n" COMPLETE),
		.tasks = "- [ ] A-1: x"
	};

	fresh();
	CHECK(run(&script, 9) == RUN_COMPLETE && state.iteration == 1);
}

static void tasks_that_cannot_be_read_are_not_done(void)
{
	struct script script = { .says = SAYS(COMPLETE, COMPLETE),
				 .tasks = "!",
				 .changes = true };

	fresh();
	CHECK(run(&script, 2) == RUN_LIMIT);
	CHECK(strstr(script.events, "tasks_unreadable"));
}

static void a_check_that_fails_is_fed_back(void)
{
	struct script script = { .says = SAYS(COMPLETE, COMPLETE),
				 .has_verify = true,
				 .verify_fails = 1,
				 .changes = true };

	fresh();
	CHECK(run(&script, 9) == RUN_COMPLETE && state.iteration == 2);
	CHECK(strstr(script.last_prompt, "2 tests fail"));
	CHECK(script.verified == 2);
}

static void a_minimum_is_kept(void)
{
	struct script script = { .says = SAYS(COMPLETE, COMPLETE, COMPLETE),
				 .changes = true };

	fresh();
	state.min_iterations = 3;
	CHECK(run(&script, 9) == RUN_COMPLETE && state.iteration == 3);
}

static void the_breaker_stops_a_run_without_change(void)
{
	struct script script = { .says = SAYS("a", "b", "c", "d", "e", "f") };

	fresh();
	CHECK(run(&script, 30) == RUN_LIMIT && state.iteration == 3);
	CHECK(strstr(state.detail, "breaker"));
	CHECK(strstr(script.last_prompt, "nothing changed in the last 2"));
	script = (struct script){ .says = SAYS("a", "b", "c", "d", "e", "f") };
	limits = (struct engine_limits){ .auto_reset = true,
					 .cooldown_seconds = 60 };
	fresh();
	CHECK(run(&script, 5) == RUN_LIMIT && state.iteration == 5);
	CHECK(script.waited == 120);
}

static void the_same_error_five_times_stops_it(void)
{
	struct script script = { .says = SAYS("!line 1 bad", "!line 2 bad",
					      "!line 3 bad", "!line 4 bad",
					      "!line 5 bad", "!line 6 bad"),
				 .changes = true };

	fresh();
	CHECK(run(&script, 30) == RUN_LIMIT && state.iteration == 5);
}

static void a_rate_limit_waits_and_does_not_count(void)
{
	struct script script = { .says = SAYS("!429 Too Many Requests",
					      "!getaddrinfo ENOTFOUND x",
					      COMPLETE),
				 .context = "keep me" };

	fresh();
	CHECK(run(&script, 1) == RUN_COMPLETE);
	CHECK(state.iteration == 1 && script.waits == 2);
	CHECK(script.waited == 15 && state.waits == 2);
	CHECK(strstr(script.last_prompt, "keep me"));
}

static void a_bad_key_stops_at_once(void)
{
	struct script script = { .says = SAYS("!API Error: 401", COMPLETE) };

	fresh();
	CHECK(run(&script, 9) == RUN_AUTH && script.turns == 1);
}

static void other_ends_are_told_apart(void)
{
	struct script script = { .says = SAYS("x"),
				 .end = ENGINE_TURN_MISSING };

	fresh();
	CHECK(run(&script, 9) == RUN_MISSING);
	script = (struct script){ .says = SAYS("x"), .sandbox_fails = true };
	fresh();
	CHECK(run(&script, 9) == RUN_FAILED);
	CHECK(strstr(state.detail, "machine is gone"));
	script = (struct script){ .says = SAYS(COMPLETE),
				  .end = ENGINE_TURN_STOPPED };
	fresh();
	CHECK(run(&script, 9) == RUN_INTERRUPTED && state.iteration == 0);
	script = (struct script){ .says = SAYS(COMPLETE),
				  .end = ENGINE_TURN_OVERDUE };
	fresh();
	CHECK(run(&script, 9) == RUN_LIMIT);
}

static void only_an_error_is_rolled_back(void)
{
	struct script script = { .says = SAYS("fine", "!bad", "!429", COMPLETE),
				 .changes = true,
				 .has_rollback = true };

	fresh();
	CHECK(run(&script, 9) == RUN_COMPLETE && script.rollbacks == 1);
	CHECK(strstr(script.events, "rollback "));
}

static void silence_is_an_error_that_counts(void)
{
	struct script script = { .says = SAYS(COMPLETE, COMPLETE),
				 .end = ENGINE_TURN_SILENT,
				 .changes = true };

	fresh();
	CHECK(run(&script, 2) == RUN_LIMIT && state.iteration == 2);
}

static void who_only_waited_for_the_network_is_no_iteration(void)
{
	struct script script = { .says = SAYS("~Reconnecting... 5/5", COMPLETE),
				 .changes = true };

	fresh();
	CHECK(run(&script, 1) == RUN_COMPLETE && state.iteration == 1);
	CHECK(script.turns == 2 && script.waits == 1);
}

static void a_wish_to_stop_finishes_the_turn(void)
{
	struct script script = { .says = SAYS("a", "b"),
				 .stop_at = 1,
				 .changes = true };

	fresh();
	CHECK(run(&script, 9) == RUN_INTERRUPTED && state.iteration == 1);
	CHECK(script.records == 1);
}

static void time_cost_and_pace_are_limits(void)
{
	struct script script = { .says = SAYS("a", "b", "c"), .changes = true };

	fresh();
	limits = (struct engine_limits){ .max_seconds = 150 };
	CHECK(run(&script, 9) == RUN_LIMIT && state.iteration == 2);
	script = (struct script){ .says = SAYS("a"), .changes = true };
	fresh();
	state.cost_micros = 5;
	limits = (struct engine_limits){ .max_cost_micros = 5 };
	CHECK(run(&script, 9) == RUN_LIMIT && state.iteration == 0);
	script =
		(struct script){ .says = SAYS("a", "b", "c"), .changes = true };
	fresh();
	limits = (struct engine_limits){ .max_calls_hour = 2 };
	CHECK(run(&script, 3) == RUN_LIMIT && script.waits == 1);
	CHECK(script.waited > 3000 && script.waited <= 3601);
}

static void a_quoted_promise_is_none(void)
{
	struct script script = { .says = SAYS("```\n" COMPLETE "```\n",
					      "do the work\n" COMPLETE
					      "not yet\n"
					      "`"
					      "<promise>COMPLETE</promise>"
					      "`"),
				 .changes = true };

	fresh();
	CHECK(run(&script, 1) == RUN_LIMIT);
}

int main(void)
{
	RUN(a_promise_completes_the_run);
	RUN(completion_on_the_last_iteration_is_no_cap);
	RUN(blocked_and_decide_stop_at_once);
	RUN(complete_is_refused_while_a_task_is_open);
	RUN(a_done_task_is_marked);
	RUN(tasks_that_cannot_be_read_are_not_done);
	RUN(a_check_that_fails_is_fed_back);
	RUN(a_minimum_is_kept);
	RUN(the_breaker_stops_a_run_without_change);
	RUN(the_same_error_five_times_stops_it);
	RUN(a_rate_limit_waits_and_does_not_count);
	RUN(a_bad_key_stops_at_once);
	RUN(other_ends_are_told_apart);
	RUN(only_an_error_is_rolled_back);
	RUN(silence_is_an_error_that_counts);
	RUN(who_only_waited_for_the_network_is_no_iteration);
	RUN(a_wish_to_stop_finishes_the_turn);
	RUN(time_cost_and_pace_are_limits);
	RUN(a_quoted_promise_is_none);
	return DONE();
}
