/* SPDX-License-Identifier: Apache-2.0 */
/*
 * output_formats.c - the events of each agent
 *
 * An agent's success is neither its exit code nor a word like "success": claude
 * says subtype "success" beside is_error true.
 */
#include <string.h>

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

static void claude_assistant(struct output *output, const json_t *event)
{
	const json_t *message = json_object_get(event, "message"), *part;
	size_t i;

	/* a subagent's words are a tool's output */
	if (json_is_string(json_object_get(event, "parent_tool_use_id")))
		return;
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
	if (json_is_true(json_object_get(event, "is_error")))
		output_fail(output,
			    text ? text : json_object_get(event, "subtype"));
	else
		say(output, text);
	output_tokens(output, usage, "input_tokens", "output_tokens");
	output_tokens(output, usage, "cache_read_input_tokens", "");
	output_tokens(output, usage, "cache_creation_input_tokens", "");
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
		output_fail(output, json_object_get(event, "message"));
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
	} else if (is(event, "type", "result")) {
		output->ended = true;
	}
}

static void opencode_step(struct output *output, const json_t *part)
{
	output_tokens(output, json_object_get(part, "tokens"), "input",
		      "output");
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
	}
}
