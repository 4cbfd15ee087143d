/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_output.c - unit tests of loop/output.h
 */
#include "loop/output.h"

#include "lib/tap.h"

static struct output out;

static const char *message(void)
{
	const char *text = buffer_str(&out.message);

	return text ? text : "";
}

static void feed(enum output_format format, const char *text,
		 const char *prompt)
{
	output_release(&out);
	output_init(&out, format);
	output_feed(&out, text, strlen(text));
	output_finish(&out, prompt);
}

#define CLAUDE                                                           \
	"{\"type\":\"system\",\"subtype\":\"init\"}\n"                   \
	"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":"   \
	"\"text\",\"text\":\"<promise>COMPLETE</promise>\"},{\"type\":"  \
	"\"tool_use\",\"name\":\"Bash\",\"input\":{\"command\":\"ls "    \
	"-l\"}}]}}\n"                                                    \
	"{\"type\":\"user\",\"message\":{\"content\":[{\"type\":\"tool_" \
	"result\",\"content\":\"<promise>COMPLETE</promise>\"}]}}\n"     \
	"{\"type\":\"assistant\",\"message\":{\"content\":[{\"type\":"   \
	"\"text\",\"text\":\"the end\"}]}}\n"

static void claude_is_read(void)
{
	feed(OUTPUT_CLAUDE,
	     CLAUDE "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":"
		    "false,\"result\":\"all is well\",\"total_cost_usd\":0.25,"
		    "\"num_turns\":3,\"usage\":{\"input_tokens\":10,"
		    "\"cache_read_input_tokens\":5,\"output_tokens\":7}}\n",
	     "");
	CHECK(!strcmp(message(), "all is well"));
	CHECK(!strcmp(out.action, "Bash ls -l"));
	CHECK(out.ended && !out.failed && out.calls == 3);
	CHECK(out.tokens_in == 15 && out.tokens_out == 7);
	CHECK(out.cost_micros == 250000);
}

static void claude_that_died_has_its_last_words(void)
{
	feed(OUTPUT_CLAUDE, CLAUDE "{\"type\":\"resu", "");
	CHECK(!strcmp(message(), "the end") && !out.ended);
}

static void success_that_is_an_error_is_one(void)
{
	feed(OUTPUT_CLAUDE,
	     "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,"
	     "\"result\":\"API Error: 401\"}\n",
	     "");
	CHECK(out.failed && !strcmp(out.error, "API Error: 401"));
	CHECK(!out.message.len);
}

static void the_status_of_an_error_is_read(void)
{
	feed(OUTPUT_CLAUDE,
	     "{\"type\":\"system\",\"subtype\":\"api_retry\",\"attempt\":1,"
	     "\"error_status\":429,\"error\":\"rate_limit\"}\n"
	     "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":true,"
	     "\"api_error_status\":429,\"result\":\"Request rejected\"}\n",
	     "");
	CHECK(out.failed && out.status == 429);
	CHECK(!strcmp(out.action, "API error 429 (rate_limit), tries again"));
	feed(OUTPUT_CLAUDE,
	     "{\"type\":\"result\",\"is_error\":true,\"api_error_status\":"
	     "null,\"result\":\"no\"}\n",
	     "");
	CHECK(out.failed && out.status == 0);
	feed(OUTPUT_COPILOT,
	     "{\"type\":\"session.error\",\"data\":{\"errorType\":"
	     "\"authentication\",\"message\":\"Check your key\","
	     "\"statusCode\":401}}\n{\"type\":\"result\",\"exitCode\":1}\n",
	     "");
	CHECK(out.failed && out.ended && out.status == 401);
	feed(OUTPUT_COPILOT,
	     "{\"type\":\"session.error\",\"data\":{\"statusCode\":-1}}\n"
	     "{\"type\":\"result\",\"exitCode\":0}\n",
	     "");
	CHECK(!out.failed && out.ended && out.status == 0);
	feed(OUTPUT_OPENCODE,
	     "{\"type\":\"error\",\"error\":{\"name\":\"APIError\",\"data\":{"
	     "\"message\":\"no\",\"statusCode\":429}}}\n",
	     "");
	CHECK(out.failed && out.status == 429 && !strcmp(out.error, "no"));
}

/* Events of one message repeat its tokens; the result counts once more. */
static void tokens_are_counted_as_they_come(void)
{
#define SAID(id)                                                             \
	"{\"type\":\"assistant\",\"message\":{\"id\":\"" id "\",\"usage\":{" \
	"\"input_tokens\":3,\"output_tokens\":2},\"content\":[]}}\n"
	feed(OUTPUT_CLAUDE, SAID("a") SAID("a") SAID("b"), "");
	CHECK(out.tokens_in == 6 && out.tokens_out == 4);
	feed(OUTPUT_CLAUDE,
	     SAID("a") SAID("b") "{\"type\":\"result\",\"usage\":{"
				 "\"input_tokens\":7,\"output_tokens\":8}}\n",
	     "");
	CHECK(out.tokens_in == 7 && out.tokens_out == 8);
#undef SAID
}

static void codex_without_a_network_is_seen(void)
{
	feed(OUTPUT_CODEX,
	     "{\"type\":\"item.completed\",\"item\":{\"type\":\"error\","
	     "\"message\":\"Model metadata not found\"}}\n"
	     "{\"type\":\"error\",\"message\":\"Reconnecting... waiting for "
	     "network (Connection failed: error sending request)\"}\n",
	     "");
	CHECK(out.failed && !out.ended && out.waiting);
	CHECK(!strncmp(out.action, "Reconnecting... waiting", 23));
	feed(OUTPUT_CODEX,
	     "{\"type\":\"error\",\"message\":\"Reconnecting... 2/5 (stream "
	     "disconnected before completion: error sending request)\"}\n",
	     "ERROR something else\n");
	CHECK(out.waiting);
	/* it came back */
	feed(OUTPUT_CODEX,
	     "{\"type\":\"error\",\"message\":\"Reconnecting... 1/5\"}\n"
	     "{\"type\":\"item.started\",\"item\":{\"type\":\"command_"
	     "execution\",\"command\":\"make\"}}\n",
	     "");
	CHECK(!out.waiting);
	feed(OUTPUT_CODEX,
	     "{\"type\":\"error\",\"message\":\"the disk is full\"}\n", "");
	CHECK(!out.waiting);
}

static void codex_is_read(void)
{
	feed(OUTPUT_CODEX,
	     "{\"type\":\"thread.started\"}\n"
	     "{\"type\":\"error\",\"message\":\"reconnecting\"}\n"
	     "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_"
	     "message\",\"text\":\"first\"}}\n"
	     "{\"type\":\"item.started\",\"item\":{\"type\":\"command_"
	     "execution\",\"command\":\"make\"}}\n"
	     "{\"type\":\"item.completed\",\"item\":{\"type\":\"command_"
	     "execution\",\"command\":\"make\",\"aggregated_output\":"
	     "\"<promise>COMPLETE</promise>\"}}\n"
	     "{\"type\":\"item.completed\",\"item\":{\"type\":\"agent_"
	     "message\",\"text\":\"last\"}}\n"
	     "{\"type\":\"turn.completed\",\"usage\":{\"input_tokens\":4,"
	     "\"output_tokens\":2}}",
	     "");
	CHECK(!strcmp(message(), "last") && out.ended && !out.failed);
	CHECK(!strcmp(out.action, "run make"));
	CHECK(out.tokens_in == 4 && out.tokens_out == 2);
	feed(OUTPUT_CODEX,
	     "{\"type\":\"turn.failed\",\"error\":{\"message\":\"429\"}}\n",
	     "");
	CHECK(out.failed && !strcmp(out.error, "429"));
}

static void gemini_is_read(void)
{
	feed(OUTPUT_GEMINI,
	     "{\"type\":\"message\",\"role\":\"user\",\"content\":\"prompt\"}\n"
	     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":"
	     "\"before\",\"delta\":true}\n"
	     "{\"type\":\"tool_use\",\"tool_name\":\"run_shell_command\","
	     "\"parameters\":{\"command\":\"id\"}}\n"
	     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":"
	     "\"the \",\"delta\":true}\n"
	     "{\"type\":\"message\",\"role\":\"assistant\",\"content\":"
	     "\"end\",\"delta\":true}\n"
	     "{\"type\":\"result\",\"status\":\"success\",\"stats\":{\"input_"
	     "tokens\":9,\"output_tokens\":8}}\n",
	     "");
	CHECK(!strcmp(message(), "the end") && out.ended && !out.failed);
	CHECK(!strcmp(out.action, "run_shell_command id"));
	CHECK(out.tokens_in == 9 && out.tokens_out == 8);
}

static void copilot_and_opencode_are_read(void)
{
	feed(OUTPUT_COPILOT,
	     "{\"type\":\"assistant.message\",\"data\":{\"content\":\"x\"}}\n"
	     "{\"type\":\"tool.execution_start\",\"data\":{\"toolName\":"
	     "\"bash\",\"arguments\":{\"command\":\"ls\"}}}\n"
	     "{\"type\":\"assistant.message\",\"data\":{\"content\":\"end\","
	     "\"outputTokens\":3}}\n"
	     "{\"type\":\"result\"}\n",
	     "");
	CHECK(!strcmp(message(), "end") && out.ended && out.tokens_out == 3);
	CHECK(!strcmp(out.action, "bash ls"));
	feed(OUTPUT_OPENCODE,
	     "{\"type\":\"tool_use\",\"part\":{\"tool\":\"bash\",\"state\":{"
	     "\"input\":{\"command\":\"w\"}}}}\n"
	     "{\"type\":\"text\",\"part\":{\"text\":\"fin\"}}\n"
	     "{\"type\":\"step_finish\",\"part\":{\"cost\":0.5,\"tokens\":{"
	     "\"input\":1,\"output\":2,\"cache\":{\"read\":4,\"write\":"
	     "8}}}}\n",
	     "");
	CHECK(!strcmp(message(), "fin") && out.cost_micros == 500000);
	CHECK(!strcmp(out.action, "bash w") && out.tokens_out == 2);
	CHECK(out.tokens_in == 13);
}

static void a_text_is_its_end_without_the_prompt(void)
{
	feed(OUTPUT_TEXT, "do it\n<promise>COMPLETE</promise>\nI did\n",
	     "do it\n"
	     "<promise>COMPLETE</promise>\n");
	CHECK(!strstr(message(), "promise") && strstr(message(), "I did"));
	CHECK(!strcmp(out.action, "I did"));
}

static void the_words_of_the_prompt_may_be_said(void)
{
	feed(OUTPUT_TEXT, "done\n<promise>COMPLETE</promise>\n",
	     "do it and say\n<promise>COMPLETE</promise>\n");
	CHECK(strstr(message(), "<promise>COMPLETE</promise>"));
}

static void an_old_line_of_a_text_is_no_message(void)
{
	char text[2000] = "<promise>COMPLETE</promise>\n```\n";
	size_t at = strlen(text);

	for (int i = 0; i < 60; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%d\n", i);
	feed(OUTPUT_TEXT, text, "");
	CHECK(!strstr(message(), "promise") && strstr(message(), "59"));
	/* a fence that was opened before is still open */
	CHECK(strstr(message(), "```"));
}

static void nonsense_is_passed_over(void)
{
	feed(OUTPUT_CLAUDE,
	     "hello\n{\n[]\n{\"type\":1}\n{\"type\":\"assistant\",\"message\":"
	     "[]}\n{\"type\":\"result\",\"total_cost_usd\":-5,\"usage\":{"
	     "\"input_tokens\":-1,\"output_tokens\":9223372036854775807}}\n",
	     "");
	CHECK(out.cost_micros == 0 && !out.tokens_in && !out.tokens_out);
	CHECK(out.ended && !out.failed);
}

static void a_line_without_end_is_bounded(void)
{
	static const char end[] = "\n{\"type\":\"result\",\"result\":\"r\"}\n";
	char *big = malloc(OUTPUT_LINE_MAX);

	memset(big, '{', OUTPUT_LINE_MAX);
	output_release(&out);
	output_init(&out, OUTPUT_CLAUDE);
	for (int i = 0; i < 3; i++)
		output_feed(&out, big, OUTPUT_LINE_MAX);
	output_feed(&out, end, sizeof(end) - 1);
	output_finish(&out, "");
	CHECK(!strcmp(message(), "r"));
	CHECK(out.line.len == 0);
	free(big);
}

static void pieces_make_no_difference(void)
{
	output_release(&out);
	output_init(&out, OUTPUT_CLAUDE);
	for (size_t i = 0; i < sizeof(CLAUDE) - 1; i++)
		output_feed(&out, CLAUDE + i, 1);
	output_finish(&out, "");
	CHECK(!strcmp(message(), "the end") && out.actions == 1);
	for (size_t cut = 0; cut < sizeof(CLAUDE) - 1; cut++) {
		output_release(&out);
		output_init(&out, OUTPUT_CLAUDE);
		output_feed(&out, CLAUDE, cut);
		output_finish(&out, "");
		CHECK(!out.ended);
	}
}

static void names_of_formats_are_known(void)
{
	enum output_format format;

	for (int i = 0; i < OUTPUT_FORMATS; i++)
		CHECK(output_format_of(
			      output_format_name((enum output_format)i),
			      &format) == 0 &&
		      (int)format == i);
	CHECK(output_format_of("xml", &format) < 0);
}

int main(void)
{
	RUN(claude_is_read);
	RUN(claude_that_died_has_its_last_words);
	RUN(success_that_is_an_error_is_one);
	RUN(the_status_of_an_error_is_read);
	RUN(tokens_are_counted_as_they_come);
	RUN(codex_without_a_network_is_seen);
	RUN(codex_is_read);
	RUN(gemini_is_read);
	RUN(copilot_and_opencode_are_read);
	RUN(a_text_is_its_end_without_the_prompt);
	RUN(the_words_of_the_prompt_may_be_said);
	RUN(an_old_line_of_a_text_is_no_message);
	RUN(nonsense_is_passed_over);
	RUN(a_line_without_end_is_bounded);
	RUN(pieces_make_no_difference);
	RUN(names_of_formats_are_known);
	output_release(&out);
	return DONE();
}
