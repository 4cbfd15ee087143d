/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tasks.c - lists of tasks in Markdown
 */
#include "loop/tasks.h"

#include <assert.h>
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "loop/tasks_internal.h"

static const char *const names[] = { "open", "begun", "done" };
static const char marks[] = { ' ', '/', 'x' };
static_assert(ARRAY_SIZE(names) == TASK_STATES &&
		      ARRAY_SIZE(marks) == TASK_STATES,
	      "a name and a mark for each state");

const char *task_state_name(enum task_state state)
{
	return names[state];
}

void tasks_release(struct task_list *list)
{
	free(list->items);
	*list = TASK_LIST_INIT;
}

struct task *tasks_append(struct task_list *list)
{
	if (list->count == TASKS_MAX)
		return NULL;
	/* in steps, so that a long list is not copied for each */
	if (list->count % 64 == 0)
		list->items = xrealloc(
			list->items, (list->count + 64) * sizeof(struct task));
	list->items[list->count] = (struct task){ .state = TASK_OPEN };
	return &list->items[list->count++];
}

bool tasks_is_id(const char *text, size_t len)
{
	if (!len || len > TASK_ID_MAX)
		return false;
	for (size_t i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) &&
		    (!text[i] || !strchr("._-#", text[i])))
			return false;
	return true;
}

/* Where the character between the brackets is; 0: not a task. */
static size_t box_of(const char *line, size_t len, enum task_state *state)
{
	size_t at = 0;

	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	if (len - at < 5 || !strchr("-*+", line[at]) || !line[at] ||
	    line[at + 1] != ' ' || line[at + 2] != '[' || line[at + 4] != ']')
		return 0;
	if (len - at > 5 && !isspace((unsigned char)line[at + 5]))
		return 0;
	if (line[at + 3] == ' ')
		*state = TASK_OPEN;
	else if (line[at + 3] == '/')
		*state = TASK_BEGUN;
	else if (line[at + 3] == 'x' || line[at + 3] == 'X')
		*state = TASK_DONE;
	else
		return 0;
	return at + 3;
}

static void split_title(struct task *task, const char *text, size_t len,
			size_t number)
{
	const char *colon;

	while (len && isspace((unsigned char)*text)) {
		text++;
		len--;
	}
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	colon = memchr(text, ':', len);
	if (colon && tasks_is_id(text, (size_t)(colon - text))) {
		size_t head = (size_t)(colon - text);

		memcpy(task->id, text, head);
		task->id[head] = '\0';
		text += head + 1;
		len -= head + 1;
		while (len && isspace((unsigned char)*text)) {
			text++;
			len--;
		}
	} else {
		(void)text_format(task->id, sizeof(task->id), "%zu", number);
	}
	text_printable(text, len, task->title, sizeof(task->title));
}

/* The next line of at..end, without its feed; *next is what follows. */
static size_t line_of(const char *at, const char *end, const char **next)
{
	const char *feed = memchr(at, '\n', (size_t)(end - at));

	*next = feed ? feed + 1 : end;
	return (size_t)((feed ? feed : end) - at);
}

int tasks_parse_markdown(const char *text, size_t len, struct task_list *list,
			 struct error *err)
{
	const char *at = text, *end = text + len, *next;

	if (len > TASKS_BYTES_MAX)
		return error_set(err, 0, "the list of tasks is too long");
	for (; at < end; at = next) {
		size_t size = line_of(at, end, &next), box;
		enum task_state state;
		struct task *task;

		box = box_of(at, size, &state);
		if (!box)
			continue;
		task = tasks_append(list);
		if (!task)
			return error_set(err, 0, "more than %d tasks",
					 TASKS_MAX);
		task->state = state;
		split_title(task, at + box + 2, size - box - 2, list->count);
	}
	return 0;
}

size_t tasks_open(const struct task_list *list)
{
	return list->count - tasks_done(list);
}

size_t tasks_done(const struct task_list *list)
{
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++)
		count += list->items[i].state == TASK_DONE;
	return count;
}

const struct task *tasks_next(const struct task_list *list)
{
	const struct task *first = NULL;

	for (size_t i = 0; i < list->count; i++) {
		const struct task *task = &list->items[i];

		if (task->state == TASK_BEGUN)
			return task;
		if (!first && task->state == TASK_OPEN)
			first = task;
	}
	return first;
}

int tasks_mark(const char *text, size_t len, const char *id,
	       enum task_state state, struct buffer *out)
{
	AUTO_TASKS struct task_list list = TASK_LIST_INIT;
	const char *at = text, *end = text + len, *next;
	bool found = false;
	size_t number = 0;

	if (tasks_parse_markdown(text, len, &list, NULL) < 0)
		return -1;
	for (; at < end; at = next) {
		enum task_state old;
		size_t size = line_of(at, end, &next);
		size_t box = box_of(at, size, &old);

		if (box && !strcmp(list.items[number++].id, id) && !found) {
			found = true;
			if (buffer_append(out, at, box) < 0 ||
			    buffer_append(out, &marks[state], 1) < 0)
				return -1;
			at += box + 1;
		}
		if (buffer_append(out, at, (size_t)(next - at)) < 0)
			return -1;
	}
	return found ? 0 : -1;
}

int tasks_add(const char *text, size_t len, const char *title,
	      struct buffer *out)
{
	char shown[TASK_TITLE_MAX + 1];

	text_printable(title, strlen(title), shown, sizeof(shown));
	if (buffer_append(out, text, len) < 0 ||
	    (len && text[len - 1] != '\n' && buffer_append(out, "\n", 1) < 0))
		return -1;
	return buffer_printf(out, "- [ ] %s\n", shown);
}

static size_t indent_of(const char *line, size_t len)
{
	size_t at = 0;

	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	return at;
}

int tasks_remove(const char *text, size_t len, size_t number,
		 struct buffer *out)
{
	const char *at = text, *end = text + len, *next;
	size_t seen = 0, indent = 0;
	bool found = false, dropping = false;

	for (; at < end; at = next) {
		enum task_state state;
		size_t size = line_of(at, end, &next);
		bool is_task = box_of(at, size, &state) != 0;

		if (dropping && (indent_of(at, size) <= indent ||
				 indent_of(at, size) == size))
			dropping = false;
		if (is_task && ++seen == number) {
			found = dropping = true;
			indent = indent_of(at, size);
		}
		if (!dropping &&
		    buffer_append(out, at, (size_t)(next - at)) < 0)
			return -1;
	}
	return found ? 0 : -1;
}
