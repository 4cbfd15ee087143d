/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prompt.c - what an agent is told in one iteration
 */
#include "loop/prompt.h"

#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "loop/promise.h"
#include "loop/tasks.h"

const char prompt_default[] =
	"{{prompt}}\n"
	"\n"
	"This is iteration {{iteration}} of at most {{max_iterations}}. Each "
	"iteration is a new session without memory: only the files of this "
	"folder and what is committed last. Look at what is there already "
	"before you begin.\n"
	"{{tasks}}{{context}}{{feedback}}{{struggle}}{{promises}}";

static int put_number(struct buffer *out, unsigned number)
{
	return buffer_printf(out, "%u", number);
}

static int put_prompt(struct buffer *out, const struct prompt_parts *parts)
{
	return buffer_append(out, parts->prompt, strlen(parts->prompt));
}

static int put_iteration(struct buffer *out, const struct prompt_parts *parts)
{
	return put_number(out, parts->iteration);
}

static int put_max(struct buffer *out, const struct prompt_parts *parts)
{
	return put_number(out, parts->max_iterations);
}

static int put_task(struct buffer *out, const struct prompt_parts *parts)
{
	const struct task *task =
		parts->tasks ? tasks_next(parts->tasks) : NULL;

	if (!task)
		return 0;
	return buffer_printf(out, "%s: %s", task->id, task->title);
}

static int put_tasks(struct buffer *out, const struct prompt_parts *parts)
{
	const struct task *task =
		parts->tasks ? tasks_next(parts->tasks) : NULL;

	if (!parts->tasks || !parts->tasks->count)
		return 0;
	if (!task)
		return buffer_printf(out, "\nAll tasks of %s are done.\n",
				     parts->tasks_file);
	return buffer_printf(
		out,
		"\nThe tasks are in %s: %zu of %zu are done. Do "
		"exactly one of them now: %s: %s\nMark it there "
		"when it is done, and put <promise>%s:DONE</promise> "
		"on a line of its own in your last message.\n",
		parts->tasks_file, tasks_done(parts->tasks),
		parts->tasks->count, task->id, task->title, task->id);
}

static int put_section(struct buffer *out, const char *title, const char *text)
{
	return text[0] ? buffer_printf(out, "\n%s\n%s\n", title, text) : 0;
}

static int put_context(struct buffer *out, const struct prompt_parts *parts)
{
	return put_section(out, "The user adds:", parts->context);
}

static int put_feedback(struct buffer *out, const struct prompt_parts *parts)
{
	return put_section(out, "From the last iteration:", parts->feedback);
}

static int put_struggle(struct buffer *out, const struct prompt_parts *parts)
{
	return put_section(out,
			   "The last iterations did not get on; try another "
			   "way:",
			   parts->struggle);
}

static int put_promises(struct buffer *out, const struct prompt_parts *parts)
{
	return buffer_printf(
		out,
		"\nEnd your last message with one of these on a line of its "
		"own, outside of code, only where it is true:\n"
		"<promise>%s</promise> when all of the work is done and "
		"checked;\n"
		"<promise>BLOCKED:reason</promise> when you cannot go on "
		"without help;\n"
		"<promise>DECIDE:question</promise> when the user must choose "
		"first.\n"
		"Otherwise the next iteration goes on.\n",
		parts->words->complete);
}

static const struct {
	const char *name;
	int (*put)(struct buffer *out, const struct prompt_parts *parts);
} fields[] = {
	{ "{{prompt}}", put_prompt },      { "{{iteration}}", put_iteration },
	{ "{{max_iterations}}", put_max }, { "{{task}}", put_task },
	{ "{{tasks}}", put_tasks },        { "{{context}}", put_context },
	{ "{{feedback}}", put_feedback },  { "{{struggle}}", put_struggle },
	{ "{{promises}}", put_promises },
};

/* How much of the template was taken; 0: no field begins here. */
static size_t put_field(const char *at, const struct prompt_parts *parts,
			struct buffer *out, int *failed)
{
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		size_t len = strlen(fields[i].name);

		if (strncmp(at, fields[i].name, len) != 0)
			continue;
		*failed = fields[i].put(out, parts);
		return len;
	}
	return 0;
}

int prompt_make(const char *template, const struct prompt_parts *parts,
		struct buffer *out, struct error *err)
{
	const char *at = template ? template : prompt_default;
	int failed = 0;

	while (*at && failed >= 0) {
		size_t plain = strcspn(at, "{"), used;

		failed = buffer_append(out, at, plain);
		at += plain;
		if (failed < 0 || !*at)
			break;
		used = put_field(at, parts, out, &failed);
		if (!used)
			failed = buffer_append(out, at, 1);
		at += used ? used : 1;
	}
	return failed < 0 ? error_set(err, 0, "the prompt is too long") : 0;
}
