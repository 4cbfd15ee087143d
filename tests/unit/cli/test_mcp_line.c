/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mcp_line.c - unit tests of cli/mcp_line.h
 */
#include "cli/mcp_line.h"

#include "lib/tap.h"

static const char call[] =
	"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","
	"\"params\":{\"name\":\"read\",\"arguments\":{\"a\":[1,2]}}}";

static int parse(const char *text, struct mcp_line *line)
{
	return mcp_line_parse(text, strlen(text), line);
}

static void calls_and_answers_are_told_apart(void)
{
	struct mcp_line line;

	CHECK(parse(call, &line) == 0 && line.kind == MCP_REQUEST);
	CHECK(!strcmp(line.method, "tools/call") && !strcmp(line.id, "7"));
	CHECK(!strcmp(line.tool, "read"));
	CHECK(parse("{\"jsonrpc\":\"2.0\",\"method\":\"n\"}", &line) == 0);
	CHECK(line.kind == MCP_NOTIFICATION && !line.id[0]);
	CHECK(parse("{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"result\":null}",
		    &line) == 0);
	CHECK(line.kind == MCP_RESULT && !strcmp(line.id, "x"));
	CHECK(parse("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{}}", &line) ==
	      0);
	CHECK(line.kind == MCP_FAILURE);
}

static void anything_else_is_refused(void)
{
	static const char *const bad[] = {
		"",
		"[]",
		"[{\"jsonrpc\":\"2.0\",\"method\":\"n\"}]",
		"{\"jsonrpc\":\"1.0\",\"method\":\"n\"}",
		"{\"jsonrpc\":\"2.0\"}",
		"{\"jsonrpc\":\"2.0\",\"method\":1}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"id\":{}}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"id\":1.5}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"params\":1}",
		"{\"jsonrpc\":\"2.0\",\"method\":\"n\",\"method\":\"m\"}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1,\"error\":{}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":1}",
		"{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":1}",
		"GET /_ping HTTP/1.1",
	};
	struct mcp_line line;

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK(parse(bad[i], &line) < 0);
}

static void a_message_that_is_cut_anywhere_is_refused(void)
{
	struct mcp_line line;

	for (size_t len = 0; len < sizeof(call) - 1; len++) {
		char *copy = malloc(len + 1);

		memcpy(copy, call, len);
		CHECK(mcp_line_parse(copy, len, &line) < 0);
		free(copy);
	}
}

static void what_is_logged_is_printable_and_cut(void)
{
	struct mcp_line line;
	char text[400];
	json_t *log;

	memset(text, 'x', sizeof(text));
	memcpy(text, "{\"jsonrpc\":\"2.0\",\"method\":\"\\u001b[2J", 36);
	memcpy(text + 300, "\"}", 3);
	CHECK(parse(text, &line) == 0);
	CHECK(!strchr(line.method, '\033') && strlen(line.method) < 65);
	log = mcp_line_log(&line, "gh", "guest", 302);
	CHECK(json_integer_value(json_object_get(log, "bytes")) == 302);
	CHECK(!json_object_get(log, "tool") && !json_object_get(log, "id"));
	json_decref(log);
}

static void a_name_and_a_command_are_parted(void)
{
	char name[MCP_NAME_MAX + 1];

	CHECK(!strcmp(mcp_line_command("gh-1=a=b c", name), "a=b c"));
	CHECK(!strcmp(name, "gh-1"));
	CHECK(!mcp_line_command("gh", name) && !mcp_line_command("gh=", name));
	CHECK(!mcp_line_command("=x", name) && !mcp_line_command("-a=x", name));
	CHECK(!mcp_line_command("../a=x", name));
	CHECK(!mcp_line_command("abcdefghijklmnopqrstuvwxyz0123456=x", name));
}

int main(void)
{
	RUN(calls_and_answers_are_told_apart);
	RUN(anything_else_is_refused);
	RUN(a_message_that_is_cut_anywhere_is_refused);
	RUN(what_is_logged_is_printable_and_cut);
	RUN(a_name_and_a_command_are_parted);
	return DONE();
}
