/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_options.c - what `loop` was asked for
 */
#include "cli/loop_options.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/loop_attempts.h"
#include "cli/sandbox_options.h"
#include "loop/duration.h"
#include "loop/prompt.h"
#include "loop/ralph_folder.h"
#include "state/agents.h"

#define DEFAULT_AGENT "claude"
#define DEFAULT_ITERATIONS 30
#define ITERATIONS_MAX 100000
#define DEFAULT_IDLE 900
#define DEFAULT_BACKOFF 5
#define DEFAULT_COOLDOWN 300
#define DEFAULT_PROMPT ".agent/PROMPT.md"
#define COST_MAX 1e6

void loop_options_release(struct loop_options *wish)
{
	free(wish->argv);
	free(wish->extra);
	free(wish->prompt);
	free(wish->template);
	free(wish->path);
	json_decref(wish->agents);
	*wish = LOOP_OPTIONS_INIT;
}

static bool is_path(const char *word)
{
	return strpbrk(word, "/.~") != NULL;
}

static int take_agent(struct loop_options *wish, const char *word,
		      struct error *err)
{
	json_t *agent = agents_find(wish->agents, word);

	if (!agent)
		return options_usage(err,
				     "there is no agent %s (a PATH has a "
				     "\"/\" or \".\")",
				     word);
	wish->agent = agent_text(agent, "name");
	wish->agent_given = true;
	return 0;
}

static int take_path(struct loop_options *wish, const char *word,
		     struct error *err)
{
	if (wish->path)
		return options_usage(err, "a loop has one folder");
	wish->path = realpath(word, NULL);
	return wish->path ? 0 : error_set(err, errno, "%s", word);
}

int loop_options_place(struct loop_options *wish, const struct options *options,
		       struct error *err)
{
	const char *named = options_value(options, "agent");

	wish->options = options;
	wish->json = options_flag(options, "json");
	wish->agents = agents_load(err);
	if (!wish->agents)
		return -1;
	for (size_t i = 0; i < options->word_count; i++) {
		const char *word = options->words[i];

		if (options->command == &command_ralph)
			break;
		if (is_path(word) ? take_path(wish, word, err) < 0
				  : take_agent(wish, word, err) < 0)
			return -1;
	}
	if (named && take_agent(wish, named, err) < 0)
		return -1;
	if (!wish->agent)
		wish->agent = options_value(options, "agent-command")
				      ? "shell"
				      : DEFAULT_AGENT;
	return wish->path ? 0 : take_path(wish, ".", err);
}

static int take_number(const struct options *options, const char *name,
		       unsigned fallback, unsigned *out, struct error *err)
{
	const char *text = options_value(options, name);
	uint64_t value = fallback;

	if (text && text_to_u64(text, 0, ITERATIONS_MAX, &value) < 0)
		return options_usage(err, "--%s takes a number up to %d", name,
				     ITERATIONS_MAX);
	*out = (unsigned)value;
	return 0;
}

static int take_duration(const struct options *options, const char *name,
			 uint64_t fallback, uint64_t *out, struct error *err)
{
	const char *text = options_value(options, name);

	*out = fallback;
	if (text && duration_parse(text, out) < 0)
		return options_usage(err,
				     "--%s takes a time like 90s, 30m or "
				     "2h",
				     name);
	return 0;
}

static int take_cost(const struct options *options, uint64_t *micros,
		     struct error *err)
{
	const char *text = options_value(options, "max-cost");
	char *end = NULL;
	double value;

	if (!text)
		return 0;
	value = strtod(text, &end);
	if (end == text || *end || !isfinite(value) || value <= 0 ||
	    value > COST_MAX)
		return options_usage(err,
				     "--max-cost takes dollars, like 2.50");
	*micros = (uint64_t)(value * 1e6 + 0.5);
	return 0;
}

static int take_limits(struct loop_options *wish, struct error *err)
{
	const struct options *options = wish->options;
	struct engine_limits *limits = &wish->limits;

	limits->once = options_flag(options, "once");
	limits->auto_reset = options_flag(options, "auto-reset");
	if (take_number(options, "max-iterations", DEFAULT_ITERATIONS,
			&wish->max_iterations, err) < 0 ||
	    take_number(options, "min-iterations", 0, &wish->min_iterations,
			err) < 0 ||
	    take_number(options, "max-calls-per-hour", 0,
			&limits->max_calls_hour, err) < 0 ||
	    take_duration(options, "max-time", 0, &limits->max_seconds, err) <
		    0 ||
	    take_duration(options, "inactivity", DEFAULT_IDLE,
			  &wish->idle_seconds, err) < 0 ||
	    take_duration(options, "backoff", DEFAULT_BACKOFF,
			  &limits->backoff_seconds, err) < 0 ||
	    take_duration(options, "cooldown", DEFAULT_COOLDOWN,
			  &limits->cooldown_seconds, err) < 0 ||
	    take_cost(options, &limits->max_cost_micros, err) < 0)
		return -1;
	if (!wish->max_iterations)
		return options_usage(err, "-n takes a number from 1: a loop "
					  "without an end is none");
	return 0;
}

/* A whole file of the user's as text. */
static char *read_text(const char *path, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(PROMPT_MAX);
	bool is_stdin = !strcmp(path, "-");
	AUTO_CLOSE int fd =
		is_stdin ? dup(0) : open(path, O_RDONLY | O_CLOEXEC);
	const char *bytes;

	if (fd < 0) {
		error_set(err, errno, "%s", path);
		return NULL;
	}
	if (fileio_read_fd(fd, &text, err) < 0) {
		error_prefix(err, "%s", path);
		return NULL;
	}
	bytes = buffer_str(&text);
	if (!bytes || strlen(bytes) != text.len) {
		error_set(err, 0, "%s: no text", path);
		return NULL;
	}
	return xstrdup(bytes);
}

/* The workspace's own prompt, which a guest may have written. */
static int read_project_prompt(struct loop_options *wish, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(PROMPT_MAX / 4);
	AUTO_CLOSE int workspace = ralph_workspace_open(wish->path, err);
	const char *bytes;

	if (workspace < 0 ||
	    ralph_read(workspace, DEFAULT_PROMPT, &text, err) < 0)
		return -1;
	bytes = text.len ? buffer_str(&text) : NULL;
	if (bytes)
		wish->prompt = xstrdup(bytes);
	return 0;
}

/* The words of `ralph`: a number is N, the others are the prompt. */
static int take_words(struct loop_options *wish, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(PROMPT_MAX);
	const struct options *options = wish->options;
	const char *bytes;

	for (size_t i = 0; i < options->word_count; i++) {
		const char *word = options->words[i];
		uint64_t number;

		if (text_to_u64(word, 1, ITERATIONS_MAX, &number) == 0)
			wish->max_iterations = (unsigned)number;
		else if (buffer_printf(&text, "%s%s", text.len ? " " : "",
				       word) < 0)
			return options_usage(err, "the prompt is too long");
	}
	bytes = text.len ? buffer_str(&text) : NULL;
	if (!bytes)
		return 0;
	if (wish->prompt)
		return options_usage(err, "there are two prompts");
	wish->prompt = xstrdup(bytes);
	return 0;
}

static int take_prompt(struct loop_options *wish, struct error *err)
{
	const char *text = options_value(wish->options, "prompt");
	const char *file = options_value(wish->options, "file");
	const char *template = options_value(wish->options, "prompt-template");

	if (text && file)
		return options_usage(err, "-p and -f exclude each other");
	if (template) {
		wish->template = read_text(template, err);
		if (!wish->template)
			return -1;
	}
	if (text)
		wish->prompt = xstrdup(text);
	else if (file)
		wish->prompt = read_text(file, err);
	if (!wish->prompt && file)
		return -1;
	if (wish->options->command == &command_ralph &&
	    take_words(wish, err) < 0)
		return -1;
	if (!wish->prompt)
		return read_project_prompt(wish, err);
	if (!wish->prompt[0])
		return options_usage(err, "the prompt is empty");
	return 0;
}

/* argv of one turn: the agent's, with --model and what follows "--". */
static int take_argv(struct loop_options *wish, struct error *err)
{
	const struct options *options = wish->options;
	const json_t *agent = agents_find(wish->agents, wish->agent);
	const char *output = options_value(options, "output");
	size_t count = 0;

	wish->agent_command = options_value(options, "agent-command");
	wish->model = options_value(options, "model");
	wish->extra = xcalloc(options->rest_count + 3, sizeof(char *));
	if (wish->model) {
		wish->extra[count++] = "--model";
		wish->extra[count++] = wish->model;
	}
	for (size_t i = 0; i < options->rest_count; i++)
		wish->extra[count++] = options->rest[i];
	if (output && output_format_of(output, &wish->format) < 0)
		return options_usage(err, "--output: there is no form %s",
				     output);
	if (wish->agent_command) {
		wish->argv = xcalloc(4, sizeof(char *));
		wish->argv[0] = "sh";
		wish->argv[1] = "-c";
		wish->argv[2] = wish->agent_command;
		return 0;
	}
	if (!output &&
	    output_format_of(agent_text(agent, "output"), &wish->format) < 0)
		return error_set(err, 0,
				 "agent %s prints a form that is not "
				 "known",
				 wish->agent);
	wish->argv = agent_argv(agent, AGENT_ONCE, wish->extra);
	if (!wish->argv)
		return error_set(err, 0, "agent %s has no form for a loop",
				 wish->agent);
	return 0;
}

static int take_attempts(struct loop_options *wish, struct error *err)
{
	const char *text = options_value(wish->options, "attempts");
	const char *mode = options_value(wish->options, "workspace-mode");
	uint64_t count;

	if (!text)
		return 0;
	if (text_to_u64(text, 1, LOOP_ATTEMPTS_MAX, &count) < 0)
		return options_usage(err, "--attempts takes a number up to %d",
				     LOOP_ATTEMPTS_MAX);
	if (!wish->verify)
		return options_usage(err, "--attempts needs --verify CMD: the "
					  "check says which of them count");
	if (mode && !strcmp(mode, "direct"))
		return options_usage(err, "--attempts: each needs a workspace "
					  "of its own, overlay or clone");
	if (!wish->prompt)
		return options_usage(err, "nothing to do: give -p PROMPT or -f "
					  "FILE, or write .agent/PROMPT.md");
	wish->attempts = (unsigned)count;
	return 0;
}

int loop_options_take(struct loop_options *wish, const struct options *options,
		      struct error *err)
{
	const char *word = options_value(options, "completion-promise");

	wish->words.complete = word ? word : "COMPLETE";
	wish->words.abort = options_value(options, "abort-promise");
	wish->words.task = options_value(options, "task-promise");
	wish->verify = options_value(options, "verify");
	wish->hook = options_value(options, "hook");
	wish->tasks = options_flag(options, "tasks");
	wish->keep = options_flag(options, "keep");
	wish->fresh = options_flag(options, "fresh");
	wish->rollback = options_flag(options, "rollback-on-failure");
	wish->checkpoints = !options_flag(options, "no-checkpoints");
	if (wish->rollback && !wish->checkpoints)
		return options_usage(err, "--rollback-on-failure needs "
					  "checkpoints");
	if (!wish->words.complete[0] || strlen(wish->words.complete) > 63)
		return options_usage(err, "--completion-promise takes a word");
	if (take_limits(wish, err) < 0 || take_argv(wish, err) < 0 ||
	    take_prompt(wish, err) < 0)
		return -1;
	return take_attempts(wish, err);
}

static bool passes_on(const struct option_row *row)
{
	const struct option_row *tables[] = { loop_sandbox_rows,
					      sandbox_options };

	for (size_t t = 0; t < ARRAY_SIZE(tables); t++)
		for (const struct option_row *at = tables[t]; at->name; at++)
			if (at == row)
				return true;
	return false;
}

const char **loop_options_create(const struct loop_options *wish,
				 const char *name)
{
	const struct options *options = wish->options;
	const char **argv = xcalloc(options->given_count + 5, sizeof(*argv));
	size_t count = 0;

	argv[count++] = xasprintf("--name=%s", name);
	if (wish->attempts && !options_value(options, "workspace-mode") &&
	    !options_flag(options, "clone"))
		argv[count++] = xstrdup("--workspace-mode=overlay");
	for (size_t i = 0; i < options->given_count; i++) {
		const struct option_given *given = &options->given[i];

		if (!passes_on(given->row))
			continue;
		argv[count++] = given->value
					? xasprintf("--%s=%s", given->row->name,
						    given->value)
					: xasprintf("--%s", given->row->name);
	}
	argv[count++] = xstrdup(wish->agent);
	argv[count++] = xstrdup(wish->path);
	return argv;
}

void loop_options_free_create(const char **argv)
{
	for (size_t i = 0; argv[i]; i++)
		free((char *)(uintptr_t)argv[i]);
}
