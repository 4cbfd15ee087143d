/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks_json.c - lists of tasks in JSON
 */
#include <jansson.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "loop/tasks_internal.h"

AUTO_DEFINE(json, json_t *, json_decref)

static const struct {
	const char *word;
	enum task_state state;
} words[] = {
	{ "open", TASK_OPEN },         { "todo", TASK_OPEN },
	{ "pending", TASK_OPEN },      { "not_started", TASK_OPEN },
	{ "ready", TASK_OPEN },        { "blocked", TASK_OPEN },
	{ "failed", TASK_OPEN },       { "begun", TASK_BEGUN },
	{ "in_progress", TASK_BEGUN }, { "in-progress", TASK_BEGUN },
	{ "doing", TASK_BEGUN },       { "done", TASK_DONE },
	{ "complete", TASK_DONE },     { "completed", TASK_DONE },
	{ "closed", TASK_DONE },       { "passed", TASK_DONE },
};

static int state_of(const json_t *item, enum task_state *state)
{
	static const char *const flags[] = { "passes", "done", "completed" };
	const char *status = json_string_value(json_object_get(item, "status"));

	if (status) {
		for (size_t i = 0; i < ARRAY_SIZE(words); i++)
			if (!strcmp(status, words[i].word)) {
				*state = words[i].state;
				return 0;
			}
		return -1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(flags); i++) {
		const json_t *flag = json_object_get(item, flags[i]);

		if (!json_is_boolean(flag))
			continue;
		*state = json_is_true(flag) ? TASK_DONE : TASK_OPEN;
		return 0;
	}
	*state = TASK_OPEN;
	return 0;
}

static const json_t *title_of(const json_t *item)
{
	static const char *const keys[] = { "title", "description", "name",
					    "task", "text" };

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *text = json_object_get(item, keys[i]);

		if (json_is_string(text))
			return text;
	}
	return NULL;
}

static int id_of(const json_t *item, size_t number, struct task *task)
{
	const json_t *id = json_object_get(item, "id");

	if (!id)
		return text_format(task->id, sizeof(task->id), "%zu", number);
	if (json_is_integer(id) && json_integer_value(id) >= 0)
		return text_format(task->id, sizeof(task->id),
				   "%" JSON_INTEGER_FORMAT,
				   json_integer_value(id));
	if (!json_is_string(id) ||
	    !tasks_is_id(json_string_value(id), json_string_length(id)))
		return -1;
	return text_copy(task->id, sizeof(task->id), json_string_value(id));
}

static int take(const json_t *item, struct task_list *list, struct error *err)
{
	struct task *task = tasks_append(list);
	const json_t *title = title_of(item);

	if (!task)
		return error_set(err, 0, "more than %d tasks", TASKS_MAX);
	if (!json_is_object(item) || id_of(item, list->count, task) < 0)
		return error_set(err, 0, "task %zu has no id that can be used",
				 list->count);
	if (state_of(item, &task->state) < 0)
		return error_set(err, 0,
				 "task %s has a status that is not "
				 "known",
				 task->id);
	if (title)
		text_printable(json_string_value(title),
			       json_string_length(title), task->title,
			       sizeof(task->title));
	return 0;
}

int tasks_parse_json(const char *text, size_t len, struct task_list *list,
		     struct error *err)
{
	AUTO(json) json_t *root = NULL;
	const json_t *items, *item;
	size_t i;

	if (len > TASKS_BYTES_MAX)
		return error_set(err, 0, "the list of tasks is too long");
	root = json_loadb(text, len, JSON_REJECT_DUPLICATES, NULL);
	items = json_is_object(root) ? json_object_get(root, "tasks") : root;
	if (!json_is_array(items))
		return error_set(err, 0, "the tasks are no list in JSON");
	json_array_foreach(items, i,
			   item) if (take(item, list, err) < 0) return -1;
	return 0;
}
