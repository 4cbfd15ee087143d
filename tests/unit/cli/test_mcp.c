/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_mcp.c - messages of the Model Context Protocol, and what they run
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "cli/mcp.h"
#include "lib/tap.h"

static char ran[512];

static int note(void *ctx, const struct mcp_order *order,
		struct mcp_output *output, struct error *err)
{
	size_t len = 0;

	(void)ctx;
	(void)err;
	for (size_t i = 0; i < order->argc; i++)
		len += (size_t)snprintf(ran + len, sizeof(ran) - len, "%s|",
					order->argv[i]);
	if (order->input)
		snprintf(ran + len, sizeof(ran) - len, "<%s", order->input);
	output->exit_code = strstr(ran, "false") ? 3 : 0;
	output->out = mcp_text("out\n", 4);
	output->err = mcp_text("", 0);
	return 0;
}

static const struct mcp full = { .run = note };
static const struct mcp reader = { .read_only = true, .run = note };

/* The answer's text; "" when there is none. */
static const char *ask(const struct mcp *mcp, const char *line)
{
	static char *text;
	json_t *answer = mcp_answer(mcp, line, strlen(line));

	free(text);
	text = answer ? json_dumps(answer, JSON_COMPACT) : NULL;
	json_decref(answer);
	return text ? text : "";
}

static const char *call(const struct mcp *mcp, const char *tool,
			const char *arguments)
{
	static char line[1024];
	static char *text;
	json_t *answer;

	snprintf(line, sizeof(line),
		 "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","
		 "\"params\":{\"name\":\"%s\",\"arguments\":%s}}",
		 tool, arguments);
	ran[0] = '\0';
	answer = mcp_answer(mcp, line, strlen(line));
	free(text);
	text = json_dumps(answer, JSON_COMPACT);
	json_decref(answer);
	return text;
}

static void a_client_is_greeted(void)
{
	const char *text = ask(&full, "{\"jsonrpc\":\"2.0\",\"id\":\"a\","
				      "\"method\":\"initialize\",\"params\":{"
				      "\"protocolVersion\":\"2024-11-05\"}}");

	CHECK(strstr(text, "\"id\":\"a\"") && strstr(text, "2024-11-05"));
	text = ask(&full, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":"
			  "\"initialize\",\"params\":{\"protocolVersion\":"
			  "\"1999-01-01\"}}");
	CHECK(strstr(text, "2025-06-18"));
	CHECK(!*ask(&full, "{\"jsonrpc\":\"2.0\",\"method\":"
			   "\"notifications/initialized\"}"));
}

static void bad_messages_get_an_error(void)
{
	CHECK(strstr(ask(&full, "{"), "-32700"));
	CHECK(strstr(ask(&full, "[]"), "-32600"));
	CHECK(strstr(ask(&full, "{\"id\":1}"), "-32600"));
	CHECK(strstr(ask(&full, "{\"id\":[],\"method\":\"ping\"}"), "-32600"));
	CHECK(strstr(ask(&full, "{\"id\":1,\"method\":\"x\"}"), "-32601"));
	CHECK(!*ask(&full, "{\"id\":1,\"result\":{}}"));
}

static void every_prefix_of_a_message_is_survived(void)
{
	static const char line[] =
		"{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\","
		"\"params\":{\"name\":\"sandbox_list\",\"arguments\":{}}}";

	for (size_t len = 0; len < sizeof(line); len++) {
		json_t *answer = mcp_answer(&full, line, len);

		CHECK(answer);
		json_decref(answer);
	}
}

static void arguments_become_options_and_words(void)
{
	call(&full, "sandbox_create",
	     "{\"path\":\"/p\",\"name\":\"one\",\"mode\":\"overlay\"}");
	CHECK(!strcmp(ran,
		      "bawn|create|--name|one|--workspace-mode|overlay|shell|"
		      "/p|"));
	call(&full, "sandbox_exec",
	     "{\"name\":\"one\",\"script\":\"-x; rm\",\"folder\":\"/p\"}");
	CHECK(!strcmp(ran, "bawn|exec|--workdir|/p|one|sh|-c|-x; rm|"));
	call(&full, "sandbox_write_file",
	     "{\"name\":\"one\",\"path\":\"/a b\",\"text\":\"new\"}");
	CHECK(!strcmp(ran, "bawn|exec|--interactive|one|sh|-c|cat > \"$1\"|sh|"
			   "/a b|<new"));
}

static void nothing_else_gets_into_the_command_line(void)
{
	static const char *const bad[] = {
		"{}",
		"{\"path\":\"relative\"}",
		"{\"path\":1}",
		"{\"path\":\"/p\",\"name\":\"-rf\"}",
		"{\"path\":\"/p\",\"name\":\"a/../b\"}",
		"{\"path\":\"/p\",\"agent\":\"--force\"}",
		"{\"path\":\"/p\",\"\":\"x\"}",
		"{\"path\":\"/p\",\"extra\":\"x\"}",
		"{\"path\":\"/p\\u0000q\"}",
		"[]",
	};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK(strstr(call(&full, "sandbox_create", bad[i]),
			     "\"isError\":true") ||
		      strstr(call(&full, "sandbox_create", bad[i]), "-32700"));
		CHECK(!ran[0]);
	}
}

static void a_failure_is_told(void)
{
	const char *text = call(&full, "sandbox_exec",
				"{\"name\":\"one\",\"script\":\"false\"}");

	CHECK(strstr(text, "\"isError\":true"));
	CHECK(strstr(text, "[exit code 3]"));
	text = call(&full, "sandbox_exec",
		    "{\"name\":\"one\",\"script\":\"true\"}");
	CHECK(strstr(text, "\"isError\":false") && strstr(text, "out\\n"));
}

static void a_reader_changes_nothing(void)
{
	const char *tools =
		ask(&reader, "{\"id\":1,\"method\":\"tools/list\"}");

	CHECK(strstr(tools, "sandbox_list"));
	CHECK(!strstr(tools, "sandbox_exec"));
	CHECK(strstr(call(&reader, "sandbox_exec",
			  "{\"name\":\"one\",\"script\":\"true\"}"),
		     "-32602"));
	CHECK(!ran[0]);
}

static void any_bytes_become_text(void)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *text;
	} rows[] = {
		{ "a\n\tb", 4, "a\n\tb" },
		{ "\0", 1, "\\x00" },
		{ "\xff\xc3\xa9", 3, "\\xff\xc3\xa9" },
		{ "\xed\xa0\x80", 3, "\\xed\\xa0\\x80" },
		{ "\xf0\x9f\x98", 3, "\\xf0\\x9f\\x98" },
		{ "\xf0\x9f\x98\x80", 4, "\xf0\x9f\x98\x80" },
		{ "\xc0\x80", 2, "\\xc0\\x80" },
		{ "", 0, "" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *text = mcp_text(rows[i].bytes, rows[i].len);

		CHECK(!strcmp(text, rows[i].text));
		free(text);
	}
}

int main(void)
{
	RUN(a_client_is_greeted);
	RUN(bad_messages_get_an_error);
	RUN(every_prefix_of_a_message_is_survived);
	RUN(arguments_become_options_and_words);
	RUN(nothing_else_gets_into_the_command_line);
	RUN(a_failure_is_told);
	RUN(a_reader_changes_nothing);
	RUN(any_bytes_become_text);
	return DONE();
}
