/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.c - messages of the Model Context Protocol
 */
#include "cli/mcp.h"

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"

AUTO_DEFINE(json, json_t *, json_decref)

enum {
	RPC_PARSE = -32700,
	RPC_INVALID = -32600,
	RPC_NO_METHOD = -32601,
	RPC_BAD_PARAMS = -32602,
};

#define NEWEST_VERSION "2025-06-18"
#define TEXT_MAX (4u * 1024 * 1024)

void mcp_output_release(struct mcp_output *output)
{
	free(output->out);
	free(output->err);
	*output = (struct mcp_output){ 0 };
}

/* Bytes of a well-formed character at text; 0 when there is none. */
static size_t utf8_length(const unsigned char *text, size_t len)
{
	static const struct {
		unsigned char first, last, low, high; /* second byte's range */
		size_t length;
	} forms[] = {
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 }, { 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};

	if (text[0] < 0x80)
		return text[0] ? 1 : 0;
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if (text[0] < forms[i].first || text[0] > forms[i].last)
			continue;
		if (len < forms[i].length || text[1] < forms[i].low ||
		    text[1] > forms[i].high)
			return 0;
		for (size_t k = 2; k < forms[i].length; k++)
			if ((text[k] & 0xc0) != 0x80)
				return 0;
		return forms[i].length;
	}
	return 0;
}

char *mcp_text(const void *bytes, size_t len)
{
	AUTO_BUFFER struct buffer out = BUFFER_INIT(TEXT_MAX);
	const unsigned char *text = bytes;

	for (size_t at = 0; at < len;) {
		size_t part = utf8_length(text + at, len - at);

		if (part ? buffer_append(&out, text + at, part)
			 : buffer_printf(&out, "\\x%02x", text[at]))
			break;
		at += part ? part : 1;
	}
	return xstrdup(out.len && buffer_str(&out) ? buffer_str(&out) : "");
}

static json_t *reply(json_t *id, const char *key, json_t *value)
{
	return json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, key,
			 value);
}

static json_t *fail(json_t *id, int code, const char *text)
{
	AUTO(json) json_t *none = json_null();

	return reply(id ? id : none, "error",
		     json_pack("{s:i, s:s}", "code", code, "message", text));
}

static json_t *initialize(const struct mcp *mcp, json_t *id, json_t *params)
{
	static const char *const known[] = { "2024-11-05", "2025-03-26",
					     NEWEST_VERSION };
	const char *asked =
		json_string_value(json_object_get(params, "protocolVersion"));
	const char *version = NEWEST_VERSION;

	(void)mcp;
	for (size_t i = 0; asked && i < ARRAY_SIZE(known); i++)
		if (!strcmp(asked, known[i]))
			version = known[i];
	return reply(
		id, "result",
		json_pack("{s:s, s:{s:{}}, s:{s:s, s:s}, s:s}",
			  "protocolVersion", version, "capabilities", "tools",
			  "serverInfo", "name", "bawn", "version", BAWN_VERSION,
			  "instructions",
			  "Sandboxes with their own kernel on this host. "
			  "What runs in one reaches its own folder and the "
			  "hosts that its network policy allows."));
}

static json_t *list_tools(const struct mcp *mcp, json_t *id, json_t *params)
{
	json_t *tools = json_array();

	(void)params;
	for (const struct mcp_tool *tool = mcp_tools; tool->name; tool++)
		if (mcp_tool_find(tool->name, mcp->read_only))
			json_array_append_new(tools, mcp_tool_describe(tool));
	return reply(id, "result", json_pack("{s:o}", "tools", tools));
}

static json_t *ping(const struct mcp *mcp, json_t *id, json_t *params)
{
	(void)mcp;
	(void)params;
	return reply(id, "result", json_object());
}

static json_t *content(const char *text, bool failed)
{
	return json_pack("{s:[{s:s, s:s}], s:b}", "content", "type", "text",
			 "text", text, "isError", failed);
}

/* What was printed; the rest only where there is something to say. */
static json_t *result_of(const struct mcp_tool *tool,
			 const struct mcp_output *output)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(3 * TEXT_MAX);
	const char *whole;

	buffer_append(&text, output->out, strlen(output->out));
	if (output->err[0])
		buffer_printf(&text, "%s[stderr]\n%s", text.len ? "\n" : "",
			      output->err);
	if (output->exit_code)
		buffer_printf(&text, "%s[exit code %d]", text.len ? "\n" : "",
			      output->exit_code);
	if (!text.len && tool->quiet)
		buffer_printf(&text, "done");
	whole = text.len ? buffer_str(&text) : "";
	return content(whole ? whole : "", output->exit_code != 0);
}

static json_t *call_tool(const struct mcp *mcp, json_t *id, json_t *params)
{
	const char *name = json_string_value(json_object_get(params, "name"));
	const struct mcp_tool *tool =
		name ? mcp_tool_find(name, mcp->read_only) : NULL;
	struct mcp_output output = { 0 };
	struct mcp_order order;
	struct error err = { 0 };
	json_t *result;

	if (!tool)
		return fail(id, RPC_BAD_PARAMS,
			    mcp->read_only ? "no such tool (--read-only)"
					   : "no such tool");
	if (mcp_order_make(tool, json_object_get(params, "arguments"), &order,
			   &err) < 0)
		return reply(id, "result", content(err.text, true));
	if (mcp->run(mcp->ctx, &order, &output, &err) < 0)
		return reply(id, "result", content(err.text, true));
	result = result_of(tool, &output);
	mcp_output_release(&output);
	return reply(id, "result", result);
}

json_t *mcp_answer(const struct mcp *mcp, const char *line, size_t len)
{
	static const struct {
		const char *method;
		json_t *(*act)(const struct mcp *mcp, json_t *id,
			       json_t *params);
	} methods[] = {
		{ "initialize", initialize },
		{ "ping", ping },
		{ "tools/list", list_tools },
		{ "tools/call", call_tool },
	};
	AUTO(json)
	json_t *message = json_loadb(line, len, JSON_REJECT_DUPLICATES, NULL);
	json_t *id = json_object_get(message, "id");
	const char *method =
		json_string_value(json_object_get(message, "method"));

	if (!message)
		return fail(NULL, RPC_PARSE, "not JSON");
	if (id && !json_is_string(id) && !json_is_integer(id))
		return fail(NULL, RPC_INVALID, "id: neither text nor number");
	if (!method)
		/* an answer to a question that we never ask */
		return json_object_get(message, "result") ||
				       json_object_get(message, "error")
			       ? NULL
			       : fail(id, RPC_INVALID, "no method");
	if (!id)
		return NULL; /* a notification */
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (!strcmp(methods[i].method, method))
			return methods[i].act(
				mcp, id, json_object_get(message, "params"));
	return fail(id, RPC_NO_METHOD, "no such method");
}
