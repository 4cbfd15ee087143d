/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_ask.c - what may be asked of a loop while it runs, or afterwards
 */
#include "cli/loop_ask.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/loop_options.h"
#include "cli/loop_place.h"
#include "cli/loop_run.h"
#include "cli/print.h"
#include "loop/duration.h"
#include "loop/ralph_folder.h"
#include "loop/run_state.h"

#define TASKS_FILE RALPH_FOLDER "/" RALPH_TASKS

AUTO_DEFINE(json, json_t *, json_decref)

static void print_tasks(const struct task_list *list)
{
	static const char marks[] = { ' ', '/', 'x' };

	for (size_t i = 0; i < list->count; i++) {
		const struct task *task = &list->items[i];
		char number[16];

		/* one that has no name of its own is called by its number */
		(void)text_format(number, sizeof(number), "%zu", i + 1);
		printf("%3s [%c] ", number, marks[task->state]);
		if (strcmp(task->id, number) != 0)
			printf("%s: ", task->id);
		printf("%s\n", task->title);
	}
}

static json_t *tasks_json(const struct task_list *list)
{
	json_t *array = json_array();

	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(
			array,
			json_pack("{s:s, s:s, s:s}", "id", list->items[i].id,
				  "title", list->items[i].title, "state",
				  task_state_name(list->items[i].state)));
	return array;
}

static int load_tasks(const char *path, struct task_list *list,
		      struct error *err)
{
	AUTO_CLOSE int workspace = ralph_workspace_open(path, err);
	char file[64];

	if (workspace < 0)
		return -1;
	return loop_run_tasks(workspace, list, file, sizeof(file), err);
}

static int list_tasks(const struct options *options,
		      const struct loop_options *wish, struct error *err)
{
	AUTO_TASKS struct task_list list = TASK_LIST_INIT;
	AUTO(json) json_t *json = NULL;

	(void)options;
	if (load_tasks(wish->path, &list, err) < 0)
		return -1;
	json = wish->json ? tasks_json(&list) : NULL;
	if (json)
		print_json(json);
	else if (list.count)
		print_tasks(&list);
	else
		printf("no tasks\n");
	return 0;
}

static void print_state(const struct run_state *state, bool alive)
{
	bool died = state->status == RUN_RUNNING && !alive;
	int64_t end = state->ended
			      ? state->ended
			      : (died ? state->heartbeat : (int64_t)time(NULL));
	char took[32];

	duration_text((double)(end - state->started), took, sizeof(took));
	printf("loop       %s\n", state->name);
	printf("agent      %s\n", state->agent);
	printf("status     %s%s\n",
	       died ? "died" : run_status_name(state->status),
	       died ? " (`bawn loop` goes on with it)" : "");
	if (state->detail[0])
		printf("detail     %s\n", state->detail);
	printf("iteration  %u of at most %u\n", state->iteration,
	       state->max_iterations);
	printf("time       %s\n", took);
	printf("tokens     %llu in, %llu out\n",
	       (unsigned long long)state->tokens_in,
	       (unsigned long long)state->tokens_out);
	printf("cost       %.2f USD\n", (double)state->cost_micros / 1e6);
}

static int show_status(const struct options *options,
		       const struct loop_options *wish, struct error *err)
{
	AUTO_RUN_STATE struct run_state state = RUN_STATE_INIT;
	AUTO_TASKS struct task_list list = TASK_LIST_INIT;
	AUTO(json) json_t *json = NULL;
	AUTO_CLOSE int folder = -1;
	bool with_tasks = options_flag(options, "tasks"), alive;
	int found = loop_place_find(wish->agent_given ? wish->agent : NULL,
				    wish->path, &folder, &state, err);

	if (found < 0 || (with_tasks && load_tasks(wish->path, &list, err) < 0))
		return -1;
	if (!found && !with_tasks)
		return error_set(err, 0, "no loop has run in %s", wish->path);
	alive = found && loop_place_is_alive(folder);
	if (!wish->json) {
		if (found)
			print_state(&state, alive);
		if (with_tasks)
			print_tasks(&list);
		return 0;
	}
	json = found ? run_state_encode(&state) : json_object();
	json_object_set_new(json, "active", json_boolean(alive));
	json_object_set_new(
		json, "died",
		json_boolean(found && !alive && state.status == RUN_RUNNING));
	if (with_tasks)
		json_object_set_new(json, "tasks", tasks_json(&list));
	print_json(json);
	return 0;
}

static int add_context(const struct options *options,
		       const struct loop_options *wish, struct error *err)
{
	AUTO_CLOSE int workspace = ralph_workspace_open(wish->path, err);

	if (workspace < 0)
		return -1;
	return ralph_add_context(workspace,
				 options_value(options, "add-context"), err);
}

static int clear_context(const struct options *options,
			 const struct loop_options *wish, struct error *err)
{
	AUTO_CLOSE int workspace = ralph_workspace_open(wish->path, err);

	(void)options;
	return workspace < 0 ? -1 : ralph_clear_context(workspace, err);
}

/* Reads the list, changes it, and puts it in its place. */
static int change_tasks(const char *path, const char *title, uint64_t number,
			struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(TASKS_BYTES_MAX);
	AUTO_BUFFER struct buffer changed = BUFFER_INIT(TASKS_BYTES_MAX);
	AUTO_CLOSE int workspace = ralph_workspace_open(path, err);
	const char *bytes;
	int failed;

	if (workspace < 0 || ralph_read(workspace, TASKS_FILE, &text, err) < 0)
		return -1;
	if (!text.len && title)
		buffer_printf(&text, "# Tasks\n\n");
	bytes = text.len ? (const char *)text.data : "";
	failed =
		title ? tasks_add(bytes, text.len, title, &changed)
		      : tasks_remove(bytes, text.len, (size_t)number, &changed);
	if (failed < 0)
		return title ? error_set(err, 0, "the list of tasks is full")
			     : error_set(err, 0, "there is no task %llu",
					 (unsigned long long)number);
	return ralph_write(workspace, RALPH_TASKS, changed.data, changed.len,
			   err);
}

static int add_task(const struct options *options,
		    const struct loop_options *wish, struct error *err)
{
	return change_tasks(wish->path, options_value(options, "add-task"), 0,
			    err);
}

static int remove_task(const struct options *options,
		       const struct loop_options *wish, struct error *err)
{
	uint64_t number;

	if (text_to_u64(options_value(options, "remove-task"), 1, TASKS_MAX,
			&number) < 0)
		return options_usage(err, "--remove-task takes a number");
	return change_tasks(wish->path, NULL, number, err);
}

static const struct {
	const char *option;
	int (*run)(const struct options *options,
		   const struct loop_options *wish, struct error *err);
} rows[] = {
	{ "status", show_status },      { "list-tasks", list_tasks },
	{ "add-context", add_context }, { "clear-context", clear_context },
	{ "add-task", add_task },       { "remove-task", remove_task },
};

static bool given(const struct options *options, const char *name)
{
	return options_flag(options, name) || options_value(options, name);
}

bool loop_ask_wanted(const struct options *options)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (given(options, rows[i].option))
			return true;
	return false;
}

int loop_ask(const struct options *options, const struct loop_options *wish,
	     struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (given(options, rows[i].option) &&
		    rows[i].run(options, wish, err) < 0)
			return -1;
	return 0;
}
