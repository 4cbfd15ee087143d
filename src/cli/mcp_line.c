/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_line.c - one message between a guest and an MCP server of the host
 */
#include "cli/mcp_line.h"

#include <assert.h>
#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"

AUTO_DEFINE(json, json_t *, json_decref)

static void copy_text(const json_t *value, char *out, size_t size)
{
	const char *text = json_string_value(value);

	if (text)
		text_printable(text, strlen(text), out, size);
}

static int take_id(const json_t *id, struct mcp_line *line)
{
	if (json_is_string(id))
		copy_text(id, line->id, sizeof(line->id));
	else if (json_is_integer(id))
		(void)text_format(line->id, sizeof(line->id), "%lld",
				  (long long)json_integer_value(id));
	return json_is_string(id) || json_is_integer(id) ? 0 : -1;
}

static int take_call(const json_t *root, struct mcp_line *line)
{
	const json_t *method = json_object_get(root, "method");
	const json_t *id = json_object_get(root, "id");
	const json_t *params = json_object_get(root, "params");

	if (!json_is_string(method) ||
	    (params && !json_is_object(params) && !json_is_array(params)))
		return -1;
	copy_text(method, line->method, sizeof(line->method));
	copy_text(json_object_get(params, "name"), line->tool,
		  sizeof(line->tool));
	line->kind = id ? MCP_REQUEST : MCP_NOTIFICATION;
	return id ? take_id(id, line) : 0;
}

static int take_answer(const json_t *root, struct mcp_line *line)
{
	const json_t *id = json_object_get(root, "id");
	const json_t *error = json_object_get(root, "error");
	bool result = json_object_get(root, "result") != NULL;

	if (result == (error != NULL) || (error && !json_is_object(error)))
		return -1;
	line->kind = result ? MCP_RESULT : MCP_FAILURE;
	/* a message that could not be read has no id */
	return error && json_is_null(id) ? 0 : take_id(id, line);
}

int mcp_line_parse(const char *bytes, size_t len, struct mcp_line *line)
{
	AUTO(json) json_t *root = NULL;
	const char *version;

	*line = (struct mcp_line){ .kind = MCP_REQUEST };
	if (!len || len > MCP_LINE_MAX)
		return -1;
	root = json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL);
	version = json_string_value(json_object_get(root, "jsonrpc"));
	if (!version || strcmp(version, "2.0") != 0)
		return -1;
	return json_object_get(root, "method") ? take_call(root, line)
					       : take_answer(root, line);
}

json_t *mcp_line_log(const struct mcp_line *line, const char *server,
		     const char *from, size_t bytes)
{
	static const char *const kinds[] = { "request", "notification",
					     "result", "error" };
	json_t *log = json_pack("{s:s, s:s, s:s, s:I}", "server", server,
				"from", from, "kind", kinds[line->kind],
				"bytes", (json_int_t)bytes);

	static_assert(ARRAY_SIZE(kinds) == MCP_KINDS, "a name for each");
	if (line->method[0])
		json_object_set_new(log, "method", json_string(line->method));
	if (line->tool[0])
		json_object_set_new(log, "tool", json_string(line->tool));
	if (line->id[0])
		json_object_set_new(log, "id", json_string(line->id));
	return log;
}

const char *mcp_line_command(const char *word, char name[MCP_NAME_MAX + 1])
{
	size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-");

	if (!len || len > MCP_NAME_MAX || word[0] == '-' || word[len] != '=' ||
	    !word[len + 1])
		return NULL;
	memcpy(name, word, len);
	name[len] = '\0';
	return word + len + 1;
}
