/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_formats.c - the events of each agent
 *
 * An agent's success is neither its exit code nor a word like "success": claude
 * says subtype "success" beside is_error true.
 */
#include <string.h>

#include "base/text.h"
#include "loop/fault.h"
#include "loop/output_internal.h"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static bool is(const json_t *object, const char *key, const char *value)
{
	return !strcmp(text_of(object, key), value);
}

static void say(struct output *output, const json_t *text)
{
	if (json_is_string(text))
		output_say(output, json_string_value(text),
			   json_string_length(text));
}

static void add(struct output *output, const json_t *text)
{
	if (json_is_string(text))
		output_add(output, json_string_value(text),
			   json_string_length(text));
}

static void claude_tokens(struct output *output, const json_t *usage)
{
	output_tokens(output, usage, "input_tokens", "output_tokens");
	output_tokens(output, usage, "cache_read_input_tokens", "");
	output_tokens(output, usage, "cache_creation_input_tokens", "");
}

/* For who watches, and for what was killed: the result says it all again. */
static void claude_usage(struct output *output, const json_t *message)
{
	uint64_t hash = text_hash(text_of(message, "id"));

	/* a message comes in several events, each with all of its tokens */
	if (hash == output->call_hash)
		return;
	output->call_hash = hash;
	claude_tokens(output, json_object_get(message, "usage"));
}

/* "API error 429 (rate_limit), tries again" */
static void claude_retry(struct output *output, const json_t *event)
{
	const json_t *status = json_object_get(event, "error_status");
	char text[100];

	(void)text_format(
		text, sizeof(text), "API error %lld (%s), tries again",
		(long long)json_integer_value(status), text_of(event, "error"));
	output_trouble(output, text);
}

static void claude_assistant(struct output *output, const json_t *event)
{
	const json_t *message = json_object_get(event, "message"), *part;
	size_t i;

	/* a subagent's words are a tool's output */
	if (json_is_string(json_object_get(event, "parent_tool_use_id")))
		return;
	claude_usage(output, message);
	output->message_open = false;
	json_array_foreach(json_object_get(message, "content"), i, part)
	{
		if (is(part, "type", "text"))
			add(output, json_object_get(part, "text"));
		else if (is(part, "type", "tool_use"))
			output_act(output, text_of(part, "name"),
				   json_object_get(part, "input"));
	}
}

static void claude_result(struct output *output, const json_t *event)
{
	const json_t *usage = json_object_get(event, "usage");
	const json_t *text = json_object_get(event, "result");
	json_int_t turns =
		json_integer_value(json_object_get(event, "num_turns"));

	output->ended = true;
	if (json_is_true(json_object_get(event, "is_error"))) {
		output_fail(output,
			    text ? text : json_object_get(event, "subtype"));
		output_status(output,
			      json_object_get(event, "api_error_status"));
	} else {
		say(output, text);
	}
	if (json_is_object(usage))
		output->tokens_in = output->tokens_out = 0;
	claude_tokens(output, usage);
	output_cost(output, json_object_get(event, "total_cost_usd"));
	if (turns > 0 && turns < 100000)
		output->calls += (unsigned)turns;
}

void output_claude(struct output *output, const json_t *event)
{
	if (is(event, "type", "assistant"))
		claude_assistant(output, event);
	else if (is(event, "type", "result"))
		claude_result(output, event);
	else if (is(event, "subtype", "api_retry"))
		claude_retry(output, event);
}

static void codex_item(struct output *output, const json_t *item, bool is_end)
{
	if (is(item, "type", "agent_message")) {
		if (is_end)
			say(output, json_object_get(item, "text"));
	} else if (is(item, "type", "command_execution")) {
		if (!is_end)
			output_act(output, "run", item);
	} else if (is(item, "type", "file_change")) {
		if (is_end)
			output_act(output, "edit", item);
	} else if (is(item, "type", "mcp_tool_call")) {
		if (!is_end)
			output_act(output, text_of(item, "tool"), item);
	}
}

void output_codex(struct output *output, const json_t *event)
{
	const json_t *item = json_object_get(event, "item");
	const char *message = text_of(event, "message");

	output->waiting = false;
	if (is(event, "type", "item.started")) {
		codex_item(output, item, false);
	} else if (is(event, "type", "item.completed")) {
		codex_item(output, item, true);
	} else if (is(event, "type", "turn.completed")) {
		output->ended = true;
		output->failed = false; /* an error before it was overcome */
		output_tokens(output, json_object_get(event, "usage"),
			      "input_tokens", "output_tokens");
		output->calls++;
	} else if (is(event, "type", "turn.failed")) {
		output->ended = true;
		output_fail(output,
			    json_object_get(json_object_get(event, "error"),
					    "message"));
	} else if (is(event, "type", "error")) {
		/* it may go on: without a network for ever */
		output_fail(output, json_object_get(event, "message"));
		output_trouble(output, message);
		output->waiting = fault_of_text(message, strlen(message)) ==
				  FAULT_NETWORK;
	}
}

void output_gemini(struct output *output, const json_t *event)
{
	const json_t *stats = json_object_get(event, "stats");

	if (is(event, "type", "message") && is(event, "role", "assistant")) {
		add(output, json_object_get(event, "content"));
	} else if (is(event, "type", "tool_use")) {
		output_act(output, text_of(event, "tool_name"),
			   json_object_get(event, "parameters"));
	} else if (is(event, "type", "error") &&
		   !is(event, "severity", "warning")) {
		output_fail(output, json_object_get(event, "message"));
	} else if (is(event, "type", "result")) {
		output->ended = true;
		output->failed = false;
		if (!is(event, "status", "success"))
			output_fail(
				output,
				json_object_get(json_object_get(event, "error"),
						"message"));
		output_tokens(output, stats, "input_tokens", "output_tokens");
		output->calls++;
	}
}

void output_copilot(struct output *output, const json_t *event)
{
	const json_t *data = json_object_get(event, "data");

	if (is(event, "type", "assistant.message")) {
		const json_t *text = json_object_get(data, "content");

		if (json_string_length(text))
			say(output, text);
		output_tokens(output, data, "", "outputTokens");
		output->calls++;
	} else if (is(event, "type", "tool.execution_start")) {
		output_act(output, text_of(data, "toolName"),
			   json_object_get(data, "arguments"));
	} else if (is(event, "type", "session.error")) {
		output_fail(output, json_object_get(data, "message"));
		output_status(output, json_object_get(data, "statusCode"));
	} else if (is(event, "type", "session.info")) {
		output_trouble(output, text_of(data, "message"));
	} else if (is(event, "type", "result")) {
		const json_t *code = json_object_get(event, "exitCode");

		output->ended = true;
		/* an error before a good end was overcome */
		if (json_is_integer(code) && !json_integer_value(code))
			output->failed = false;
	}
}

static void opencode_step(struct output *output, const json_t *part)
{
	const json_t *tokens = json_object_get(part, "tokens");
	const json_t *cache = json_object_get(tokens, "cache");

	output_tokens(output, tokens, "input", "output");
	output_tokens(output, cache, "read", "");
	output_tokens(output, cache, "write", "");
	output_cost(output, json_object_get(part, "cost"));
	output->calls++;
	output->ended = true;
}

void output_opencode(struct output *output, const json_t *event)
{
	const json_t *part = json_object_get(event, "part");
	const json_t *error = json_object_get(event, "error");

	if (is(event, "type", "text")) {
		say(output, json_object_get(part, "text"));
	} else if (is(event, "type", "tool_use")) {
		output_act(output, text_of(part, "tool"),
			   json_object_get(json_object_get(part, "state"),
					   "input"));
	} else if (is(event, "type", "step_finish")) {
		opencode_step(output, part);
	} else if (is(event, "type", "error")) {
		const json_t *data = json_object_get(error, "data");
		const json_t *text = json_object_get(data, "message");

		output_fail(output,
			    text ? text : json_object_get(error, "name"));
		output_status(output, json_object_get(data, "statusCode"));
	}
}
