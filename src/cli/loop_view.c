/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_view.c - how a loop is watched: lines, a line that lives, or JSON
 */
#include "cli/loop_view.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/loop.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/terminal.h"
#include "loop/duration.h"
#include "loop/live_line.h"
#include "loop/output.h"
#include "loop/run_state.h"

AUTO_DEFINE(json, json_t *, json_decref)

void loop_view_init(struct loop_view *view, bool json)
{
	*view = (struct loop_view){
		.json = json,
		.live = !json && isatty(1) && isatty(2),
	};
}

/* A terminal that became narrower has broken the line into several rows. */
static void erase(struct loop_view *view, uint16_t columns)
{
	size_t rows = columns && view->drawn ? (view->drawn - 1) / columns : 0;

	if (rows)
		fprintf(stderr, "\033[%zuA", rows);
	if (view->drawn)
		fputs("\r\033[J", stderr);
	view->drawn = 0;
}

void loop_view_clear(struct loop_view *view)
{
	uint16_t lines, columns;

	if (!view->drawn)
		return;
	terminal_size(2, &lines, &columns);
	erase(view, columns);
}

static void now_text(char *out, size_t size)
{
	time_t now = time(NULL);
	struct tm tm;

	out[0] = '\0';
	if (gmtime_r(&now, &tm))
		(void)strftime(out, size, "%Y-%m-%dT%H:%M:%SZ", &tm);
}

static void print_json_event(const char *name, const json_t *details)
{
	AUTO(json) json_t *line = json_object();
	AUTO_FREE char *text = NULL;
	char now[32];

	now_text(now, sizeof(now));
	json_object_set_new(line, "time", json_string(now));
	json_object_set_new(line, "event", json_string(name));
	if (details)
		json_object_update(line, (json_t *)(uintptr_t)details);
	text = json_dumps(line, JSON_COMPACT);
	printf("%s\n", text ? text : "{}");
}

static const char *text_of(const json_t *details, const char *key)
{
	const char *text = json_string_value(json_object_get(details, key));

	return text ? text : "";
}

static int number_of(const json_t *details, const char *key)
{
	return (int)json_integer_value(json_object_get(details, key));
}

static const char *plural(int number)
{
	return number == 1 ? "" : "s";
}

static void say_iteration(struct loop_view *view, const json_t *details)
{
	const char *task = text_of(details, "task");

	view->iteration = (unsigned)number_of(details, "iteration");
	view->max_iterations = (unsigned)number_of(details, "max");
	view->begun = (double)loop_now_ms() / 1000;
	text_printable(task, strlen(task), view->task, sizeof(view->task));
	printf("iteration %u/%u%s%s\n", view->iteration, view->max_iterations,
	       view->task[0] ? ": " : "", view->task);
}

/* What was blocked may be why it failed, which agents do not tell. */
static void say_blocked(const struct loop_view *view, const json_t *record)
{
	const json_t *host;
	bool any = false;
	size_t i;

	json_array_foreach(json_object_get(record, "egress"), i, host)
	{
		if (!json_is_true(json_object_get(host, "denied")))
			continue;
		any = true;
		printf("  blocked: %s", text_of(host, "host"));
		if (number_of(host, "count") > 1)
			printf(" (%d times)", number_of(host, "count"));
		putchar('\n');
	}
	if (any && text_of(record, "error")[0])
		printf("  to allow it: bawn policy allow %s HOST\n",
		       view->name);
}

static void say_turn(struct loop_view *view, const json_t *record)
{
	const char *promise = text_of(record, "promise");
	const char *error = text_of(record, "error");
	int files = (int)json_array_size(json_object_get(record, "files"));
	char took[32];

	duration_text(json_number_value(json_object_get(record, "seconds")),
		      took, sizeof(took));
	printf("  %s, %d file%s changed, %d tokens in, %d out, %.4f USD%s%s\n",
	       took, files, plural(files), number_of(record, "tokens_in"),
	       number_of(record, "tokens_out"),
	       json_number_value(json_object_get(record, "cost_usd")),
	       promise[0] ? ", promises " : "", promise);
	if (error[0])
		printf("  error: %s\n", error);
	say_blocked(view, record);
}

static void say_wait(struct loop_view *view, const json_t *details)
{
	char wait[32];

	(void)view;
	duration_text(json_number_value(json_object_get(details, "seconds")),
		      wait, sizeof(wait));
	printf("  waits %s (%s)\n", wait, text_of(details, "why"));
}

static void say_refused(struct loop_view *view, const json_t *details)
{
	const char *why = text_of(details, "why");

	(void)view;
	if (!strcmp(why, "verify"))
		printf("  completion refused: the check ended with code %d\n",
		       number_of(details, "code"));
	else if (!strcmp(why, "minimum"))
		printf("  completion refused: more iterations are wanted\n");
	else if (json_object_get(details, "open"))
		printf("  completion refused: %d task%s open\n",
		       number_of(details, "open"),
		       number_of(details, "open") == 1 ? " is" : "s are");
	else
		printf("  completion refused: the tasks cannot be read\n");
}

static void say_end(struct loop_view *view, const json_t *details)
{
	const char *detail = text_of(details, "detail");
	int done = number_of(details, "iterations");

	(void)view;
	printf("%s after %d iteration%s%s%s\n", text_of(details, "status"),
	       done, plural(done), detail[0] ? ": " : "", detail);
}

/* In one line; of a list without its marks. */
static void say_text(const char *lead, const char *text)
{
	const char *end;

	printf("  %s: ", lead);
	for (; *text; text = end + (*end == '\n')) {
		end = text + strcspn(text, "\n");
		text += text_starts(text, "- ") ? 2 : 0;
		printf("%.*s%s", (int)(end - text), text,
		       *end && end[1] ? "; " : "");
	}
	putchar('\n');
}

static void say_struggle(struct loop_view *view, const json_t *details)
{
	(void)view;
	say_text("struggles", text_of(details, "signs"));
}

static void say_breaker(struct loop_view *view, const json_t *details)
{
	(void)view;
	say_text("breaker", text_of(details, "why"));
}

static void say_bad_tasks(struct loop_view *view, const json_t *details)
{
	(void)view;
	say_text("tasks cannot be read", text_of(details, "error"));
}

static void say_context(struct loop_view *view, const json_t *details)
{
	(void)view;
	(void)details;
	printf("  takes what was added by the user\n");
}

static void say_rollback(struct loop_view *view, const json_t *details)
{
	(void)view;
	(void)details;
	printf("  went back to the state before this iteration\n");
}

static void say_no_checkpoint(struct loop_view *view, const json_t *details)
{
	(void)view;
	say_text("no way back", text_of(details, "error"));
}

static void say_winner(struct loop_view *view, const json_t *details)
{
	const char *name = text_of(details, "name");
	int lines = number_of(details, "lines");

	(void)view;
	printf("attempt %d passes with the smallest change, %d line%s: %s is "
	       "kept\n",
	       number_of(details, "attempt"), lines, plural(lines), name);
	if (!strcmp(text_of(details, "mode"), "clone"))
		printf("its commits: git fetch sandbox-%s\n", name);
	else
		printf("its changes: bawn diff %s, bawn apply %s\n", name,
		       name);
}

static void say_no_winner(struct loop_view *view, const json_t *details)
{
	(void)view;
	(void)details;
	printf("no attempt passed the check; all are kept (`bawn ls`)\n");
}

static void say_verify(struct loop_view *view, const json_t *details)
{
	(void)view;
	(void)details;
	printf("  checks\n");
}

static void say_begin(struct loop_view *view, const json_t *details)
{
	(void)text_copy(view->name, sizeof(view->name),
			text_of(details, "name"));
	printf("%s %s\n", text_of(details, "resumed")[0] ? "goes on:" : "loop",
	       view->name);
}

static void say_stopping(struct loop_view *view, const json_t *details)
{
	(void)view;
	(void)details;
	printf("  stops after this iteration; Ctrl-C again stops now\n");
}

static const struct {
	const char *name;
	void (*say)(struct loop_view *view, const json_t *details);
} rows[] = {
	{ "begin", say_begin },
	{ "iteration", say_iteration },
	{ "turn", say_turn },
	{ "wait", say_wait },
	{ "refused", say_refused },
	{ "struggle", say_struggle },
	{ "breaker", say_breaker },
	{ "tasks_unreadable", say_bad_tasks },
	{ "context", say_context },
	{ "verify", say_verify },
	{ "end", say_end },
	{ "rollback", say_rollback },
	{ "checkpoint_failed", say_no_checkpoint },
	{ "winner", say_winner },
	{ "no_winner", say_no_winner },
	{ "stopping", say_stopping },
};

void loop_view_event(struct loop_view *view, const char *name,
		     const json_t *details)
{
	loop_view_clear(view);
	for (size_t i = 0; i < ARRAY_SIZE(rows) && !view->json; i++)
		if (!strcmp(rows[i].name, name))
			rows[i].say(view, details);
	if (view->json)
		print_json_event(name, details);
	fflush(stdout);
}

static void draw(struct loop_view *view, const char *line, uint16_t columns)
{
	erase(view, columns);
	fputs(line, stderr);
	view->drawn = live_line_width(line);
}

void loop_view_tick(struct loop_view *view, const struct run_state *state,
		    const struct output *output, unsigned denied)
{
	const struct live_facts facts = {
		.iteration = view->iteration,
		.max_iterations = view->max_iterations,
		.seconds = (double)loop_now_ms() / 1000 - view->begun,
		.tokens = state->tokens_in + state->tokens_out +
			  output->tokens_in + output->tokens_out,
		.cost_micros = state->cost_micros + output->cost_micros,
		.denied = denied,
		.task = view->task,
		.action = output->action,
	};
	char line[LIVE_LINE_MAX];
	uint16_t lines, columns;

	if (!view->live)
		return;
	terminal_size(2, &lines, &columns);
	live_line_make(&facts, columns, line);
	draw(view, line, columns);
}

void loop_view_wait(struct loop_view *view, uint64_t seconds_left,
		    const char *why)
{
	char line[80], left[32];
	uint16_t lines, columns;

	if (!view->live)
		return;
	terminal_size(2, &lines, &columns);
	duration_text((double)seconds_left, left, sizeof(left));
	(void)text_format(line, sizeof(line), "waits, %s left (%s)", left, why);
	if (columns && columns - 1U < strlen(line))
		line[columns - 1] = '\0';
	draw(view, line, columns);
}
