/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_run_report.c - unit tests of loop/run_report.h
 */
#include "loop/run_report.h"

#include "base/buffer.h"
#include "lib/tap.h"
#include "loop/run_state.h"

static char name[] = "ralph-x", agent[] = "claude", folder[] = "/w",
	    prompt[] = "do <b>it</b> `now`\nand *all*";
static const struct run_state state = { .name = name,
					.agent = agent,
					.workspace = folder,
					.prompt = prompt,
					.status = RUN_BLOCKED,
					.detail = "<script>alert(1)</script>",
					.iteration = 2,
					.max_iterations = 5 };

static json_t *records(void)
{
	return json_pack(
		"[{s:i, s:f, s:i, s:f, s:s, s:[s], s:[{s:s, s:i, s:b}]}, "
		"{s:i, s:f}]",
		"iteration", 1, "seconds", 2.5, "tokens_in", 100, "cost_usd",
		0.5, "error", "| a |", "files", "src/\"x\".c", "egress", "host",
		"evil.test:443", "count", 3, "denied", 1, "iteration", 2,
		"seconds", -1.0);
}

static void markdown_has_all_and_escapes(void)
{
	struct buffer out = BUFFER_INIT(RUN_REPORT_MAX);
	json_t *list = records();
	const char *text;

	CHECK(run_report_markdown(&state, list, &out) >= 0);
	text = buffer_str(&out);
	CHECK(strstr(text, "### Iteration 1") &&
	      strstr(text, "### Iteration 2"));
	CHECK(strstr(text, "blocked: evil.test:443 (3 times)"));
	CHECK(strstr(text, "- Changed files:\n  - src/\"x\".c\n"));
	CHECK(strstr(text, "> do &#60;b&#62;it&#60;/b&#62; \\`now\\`  \n> "
			   "and \\*all\\*  \n"));
	CHECK(strstr(text, "| 1 |  | 2s | 100 | 0 | 0.5000 | 1 | 1 |  |\n"));
	CHECK(strstr(text,
		     "\n```\n   #  time, max 2.5 s       tokens, max 100 "));
	CHECK(strstr(text, "\n   1  ####################  ####"));
	CHECK(strstr(text, "\n   2                    "));
	CHECK(!strstr(text, "\\x0a"));
	CHECK(strstr(text, "\\| a \\|") && strstr(text, "\\`now\\`"));
	CHECK(!strstr(text, "<script") && !strstr(text, "<b>"));
	buffer_release(&out);
	json_decref(list);
}

static void html_has_a_plot_and_escapes(void)
{
	struct buffer out = BUFFER_INIT(RUN_REPORT_MAX);
	json_t *list = records();
	const char *text;

	CHECK(run_report_html(&state, list, &out) >= 0);
	text = buffer_str(&out);
	CHECK(strstr(text, "<svg") && strstr(text, "<rect"));
	CHECK(strstr(text, "src/&#34;x&#34;.c"));
	CHECK(strstr(text, "<br>\nand *all*<br>") && strstr(text, "<table>"));
	CHECK(!strstr(text, "<script") && !strstr(text, "<b>"));
	CHECK(strstr(text, "</html>"));
	buffer_release(&out);
	json_decref(list);
}

static void nothing_is_plotted_for_nothing(void)
{
	struct buffer out = BUFFER_INIT(RUN_REPORT_MAX);
	json_t *list = json_array();

	CHECK(run_report_html(&state, list, &out) >= 0);
	CHECK(!strstr(buffer_str(&out), "<svg"));
	CHECK(strstr(buffer_str(&out), "<p>None has ended yet.</p>"));
	buffer_release(&out);
	json_decref(list);
}

int main(void)
{
	RUN(markdown_has_all_and_escapes);
	RUN(html_has_a_plot_and_escapes);
	RUN(nothing_is_plotted_for_nothing);
	return DONE();
}
