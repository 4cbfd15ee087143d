/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_report.c - a run of the loop, in Markdown and in HTML
 */
#include "loop/run_report.h"

#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/own.h"
#include "base/text.h"
#include "loop/duration.h"
#include "loop/run_plot.h"
#include "loop/run_state.h"

#define TEXT_MAX 4096

enum style {
	STYLE_MARKDOWN,
	STYLE_HTML,
};

struct report {
	struct buffer *out;
	enum style style;
};

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

static double number_of(const json_t *object, const char *key)
{
	return json_number_value(json_object_get(object, key));
}

/* Marks that mean something in Markdown or HTML lose it. */
static void put_line(struct report *report, const char *text, size_t len)
{
	char shown[TEXT_MAX];

	text_printable(text, len, shown, sizeof(shown));
	for (const char *at = shown; *at; at++) {
		if (*at == '<' || *at == '>' || *at == '&')
			buffer_printf(report->out, "&#%d;", *at);
		else if (report->style == STYLE_HTML &&
			 (*at == '"' || *at == '\''))
			buffer_printf(report->out, "&#%d;", *at);
		else if (report->style == STYLE_MARKDOWN &&
			 strchr("\\`*_[]|#!~", *at))
			buffer_printf(report->out, "\\%c", *at);
		else
			buffer_append(report->out, at, 1);
	}
}

static void put(struct report *report, const char *text)
{
	put_line(report, text, strlen(text));
}

static void heading(struct report *report, int level, const char *text)
{
	if (report->style == STYLE_HTML) {
		buffer_printf(report->out, "<h%d>", level);
		put(report, text);
		buffer_printf(report->out, "</h%d>\n", level);
		return;
	}
	buffer_printf(report->out, "\n%.*s ", level, "######");
	put(report, text);
	buffer_printf(report->out, "\n\n");
}

static void item(struct report *report, const char *name, const char *text)
{
	if (!text[0])
		return;
	buffer_printf(
		report->out,
		report->style == STYLE_HTML ? "<li>%s: " : "- %s: ", name);
	put(report, text);
	buffer_printf(report->out,
		      report->style == STYLE_HTML ? "</li>\n" : "\n");
}

static void list(struct report *report, bool is_begin)
{
	if (report->style == STYLE_HTML)
		buffer_printf(report->out, is_begin ? "<ul>\n" : "</ul>\n");
}

static void summary(struct report *report, const struct run_state *state)
{
	char text[128], took[32];

	list(report, true);
	item(report, "Agent", state->agent);
	item(report, "Folder", state->workspace);
	item(report, "Sandbox", state->name);
	item(report, "Result", run_status_name(state->status));
	item(report, "Reason", state->detail);
	(void)text_format(text, sizeof(text), "%u of at most %u",
			  state->iteration, state->max_iterations);
	item(report, "Iterations", text);
	duration_text(state->agent_seconds, took, sizeof(took));
	(void)text_format(text, sizeof(text), "%s with the agent", took);
	item(report, "Time", text);
	(void)text_format(text, sizeof(text), "%llu in, %llu out",
			  (unsigned long long)state->tokens_in,
			  (unsigned long long)state->tokens_out);
	item(report, "Tokens", text);
	(void)text_format(text, sizeof(text), "%.2f USD",
			  (double)state->cost_micros / 1e6);
	item(report, "Cost", text);
	list(report, false);
}

/* As it was given, line by line. */
static void prompt(struct report *report, const char *text)
{
	bool is_html = report->style == STYLE_HTML;

	heading(report, 2, "Prompt");
	buffer_printf(report->out, is_html ? "<blockquote>" : "");
	while (*text) {
		size_t len = strcspn(text, "\n");

		buffer_printf(report->out, is_html ? "" : "> ");
		put_line(report, text, len);
		buffer_printf(report->out, is_html ? "<br>\n" : "  \n");
		text += len + (text[len] ? 1 : 0);
	}
	buffer_printf(report->out, is_html ? "</blockquote>\n" : "");
}

/* A list within the list of a turn; nothing for nothing. */
static void sublist(struct report *report, bool is_begin, const char *title)
{
	bool is_html = report->style == STYLE_HTML;

	if (is_begin)
		buffer_printf(report->out,
			      is_html ? "<li>%s:<ul>\n" : "- %s:\n", title);
	else
		buffer_printf(report->out, is_html ? "</ul></li>\n" : "");
}

static void subitem(struct report *report, const char *text, const char *class)
{
	bool is_html = report->style == STYLE_HTML;

	if (is_html)
		buffer_printf(report->out, "<li class=\"%s\">", class);
	else
		buffer_printf(report->out, "  - ");
	put(report, text);
	buffer_printf(report->out, is_html ? "</li>\n" : "\n");
}

static void files(struct report *report, const json_t *record)
{
	const json_t *names = json_object_get(record, "files"), *name;
	size_t i;

	if (!json_array_size(names))
		return;
	sublist(report, true, "Changed files");
	json_array_foreach((json_t *)(uintptr_t)names, i,
			   name) if (json_is_string(name))
		subitem(report, json_string_value(name), "file");
	sublist(report, false, "");
}

static void egress(struct report *report, const json_t *record)
{
	const json_t *hosts = json_object_get(record, "egress"), *host;
	size_t i;

	if (!json_array_size(hosts))
		return;
	sublist(report, true, "Egress");
	json_array_foreach((json_t *)(uintptr_t)hosts, i, host)
	{
		bool denied = json_is_true(json_object_get(host, "denied"));
		double count = number_of(host, "count");
		char text[400];

		(void)text_format(text, sizeof(text), "%s%s (%.0f time%s)",
				  denied ? "blocked: " : "",
				  text_of(host, "host"), count,
				  count == 1 ? "" : "s");
		subitem(report, text, denied ? "bad" : "host");
	}
	sublist(report, false, "");
}

/* What came of a turn, in a word or two. */
static void outcome(const json_t *record, char *out, size_t size)
{
	const char *promise = text_of(record, "promise");
	const char *fault = text_of(record, "fault");
	const char *refused = text_of(record, "refused");

	if (fault[0] && strcmp(fault, "none") != 0)
		(void)text_format(out, size, "failed (%s)", fault);
	else if (promise[0])
		(void)text_format(out, size, "%s%s%s%s", promise,
				  refused[0] ? ", refused (" : "", refused,
				  refused[0] ? ")" : "");
	else
		(void)text_copy(out, size, "");
}

static size_t denials(const json_t *record)
{
	const json_t *hosts = json_object_get(record, "egress"), *host;
	size_t i, count = 0;

	json_array_foreach((json_t *)(uintptr_t)hosts, i, host) count +=
		json_is_true(json_object_get(host, "denied"));
	return count;
}

static void overview_row(struct report *report, const json_t *record)
{
	bool is_html = report->style == STYLE_HTML;
	const char *cell = is_html ? "</td><td>" : " | ";
	char took[32], what[64];

	duration_text(number_of(record, "seconds"), took, sizeof(took));
	outcome(record, what, sizeof(what));
	buffer_printf(report->out, is_html ? "<tr><td>" : "| ");
	buffer_printf(report->out, "%.0f%s", number_of(record, "iteration"),
		      cell);
	put(report, text_of(record, "started"));
	buffer_printf(report->out, "%s%s%s%.0f%s%.0f%s%.4f%s%zu%s%zu%s", cell,
		      took, cell, number_of(record, "tokens_in"), cell,
		      number_of(record, "tokens_out"), cell,
		      number_of(record, "cost_usd"), cell,
		      json_array_size(json_object_get(record, "files")), cell,
		      denials(record), cell);
	put(report, what);
	buffer_printf(report->out, is_html ? "</td></tr>\n" : " |\n");
}

static void overview(struct report *report, const json_t *records)
{
	static const char *const names[] = { "#",         "begun",   "took",
					     "tokens in", "out",     "USD",
					     "files",     "blocked", "result" };
	bool is_html = report->style == STYLE_HTML;
	const json_t *record;
	size_t i;

	if (!json_array_size(records)) {
		buffer_printf(report->out, is_html ? "<p>%s</p>\n" : "%s\n",
			      "None has ended yet.");
		return;
	}
	buffer_printf(report->out, is_html ? "<table>\n<tr>" : "|");
	for (i = 0; i < ARRAY_SIZE(names); i++)
		buffer_printf(report->out, is_html ? "<th>%s</th>" : " %s |",
			      names[i]);
	buffer_printf(report->out, is_html ? "</tr>\n" : "\n|");
	for (i = 0; i < ARRAY_SIZE(names) && !is_html; i++)
		buffer_printf(report->out, "---|");
	buffer_printf(report->out, is_html ? "" : "\n");
	json_array_foreach((json_t *)(uintptr_t)records, i, record)
		overview_row(report, record);
	buffer_printf(report->out, is_html ? "</table>\n" : "");
}

static void turn(struct report *report, const json_t *record)
{
	char text[160];

	(void)text_format(text, sizeof(text), "Iteration %.0f",
			  number_of(record, "iteration"));
	heading(report, 3, text);
	list(report, true);
	item(report, "Begun", text_of(record, "started"));
	(void)text_format(
		text, sizeof(text),
		"%.1f s, %.0f tokens in, %.0f out, %.4f USD, exit "
		"code %.0f",
		number_of(record, "seconds"), number_of(record, "tokens_in"),
		number_of(record, "tokens_out"), number_of(record, "cost_usd"),
		number_of(record, "exit_code"));
	item(report, "Took", text);
	item(report, "Task", text_of(record, "task"));
	item(report, "Promise", text_of(record, "promise"));
	item(report, "Text", text_of(record, "promise_text"));
	item(report, "Refused", text_of(record, "refused"));
	item(report, "Check", text_of(record, "verify"));
	item(report, "Error", text_of(record, "error"));
	files(report, record);
	egress(report, record);
	list(report, false);
}

static void turns(struct report *report, const json_t *records)
{
	const json_t *record;
	size_t i;

	heading(report, 2, "Iterations");
	overview(report, records);
	json_array_foreach((json_t *)(uintptr_t)records, i, record)
		turn(report, record);
}

/* Appending past the maximum leaves the buffer as it was. */
static int finish(struct report *report, const char *end)
{
	return buffer_printf(report->out, "%s", end);
}

/* No script and nothing from elsewhere: it opens anywhere, also as mail. */
static const char head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
	"<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width\">\n"
	"<title>Report of a loop</title>\n<style>\n"
	"body{font:15px/1.45 sans-serif;max-width:60em;margin:2em auto;"
	"padding:0 1em;color:#222;background:#fff}\n"
	"h1,h2,h3{line-height:1.2}h3{margin-bottom:.3em}ul{margin-top:.3em}\n"
	"table{border-collapse:collapse;font-size:13px;margin:1em 0;"
	"display:block;overflow-x:auto;white-space:nowrap}\n"
	"th,td{padding:.25em .7em;text-align:right;"
	"border-bottom:1px solid #ccc}\n"
	"td:nth-child(2),td:last-child,th:last-child{text-align:left}\n"
	"blockquote{margin:0;padding:.5em 1em;border-left:3px solid #bbb}\n"
	".file,.host,.bad{font-family:monospace}.bad{color:#b00020}\n"
	"li{overflow-wrap:anywhere}svg{width:100%;max-width:60em}\n"
	"svg text{fill:currentColor}\n"
	"@media(prefers-color-scheme:dark){body{color:#ddd;background:#1b1b1b}"
	".bad{color:#ff8a80}th,td{border-color:#444}}\n"
	"</style>\n</head>\n<body>\n<h1>Report of a loop</h1>\n";

int run_report_markdown(const struct run_state *state, const json_t *records,
			struct buffer *out)
{
	struct report report = { out, STYLE_MARKDOWN };

	buffer_printf(out, "# Report of a loop\n\n");
	summary(&report, state);
	run_plot_text(records, out);
	prompt(&report, state->prompt);
	turns(&report, records);
	return finish(&report, "\n");
}

int run_report_html(const struct run_state *state, const json_t *records,
		    struct buffer *out)
{
	struct report report = { out, STYLE_HTML };

	buffer_append(out, head, strlen(head));
	summary(&report, state);
	run_plot(records, out);
	prompt(&report, state->prompt);
	turns(&report, records);
	return finish(&report, "</body>\n</html>\n");
}
