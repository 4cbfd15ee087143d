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
static void put(struct report *report, const char *text)
{
	char shown[TEXT_MAX];

	text_printable(text, strlen(text), shown, sizeof(shown));
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
	char text[128];

	list(report, true);
	item(report, "Agent", state->agent);
	item(report, "Folder", state->workspace);
	item(report, "Sandbox", state->name);
	item(report, "Result", run_status_name(state->status));
	item(report, "Reason", state->detail);
	(void)text_format(text, sizeof(text), "%u of at most %u",
			  state->iteration, state->max_iterations);
	item(report, "Iterations", text);
	(void)text_format(text, sizeof(text), "%.0f s with the agent",
			  state->agent_seconds);
	item(report, "Time", text);
	(void)text_format(text, sizeof(text), "%llu in, %llu out",
			  (unsigned long long)state->tokens_in,
			  (unsigned long long)state->tokens_out);
	item(report, "Tokens", text);
	(void)text_format(text, sizeof(text), "%.2f USD",
			  (double)state->cost_micros / 1e6);
	item(report, "Cost", text);
	list(report, false);
	heading(report, 2, "Prompt");
	buffer_printf(report->out, report->style == STYLE_HTML ? "<p>" : "> ");
	put(report, state->prompt);
	buffer_printf(report->out,
		      report->style == STYLE_HTML ? "</p>\n" : "\n");
}

static void files(struct report *report, const json_t *record)
{
	const json_t *names = json_object_get(record, "files"), *name;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)names, i,
			   name) if (json_is_string(name))
		item(report, "changed", json_string_value(name));
}

static void egress(struct report *report, const json_t *record)
{
	const json_t *hosts = json_object_get(record, "egress"), *host;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)hosts, i, host)
	{
		bool denied = json_is_true(json_object_get(host, "denied"));
		char text[400];

		(void)text_format(text, sizeof(text), "%s (%.0f times)",
				  text_of(host, "host"),
				  number_of(host, "count"));
		item(report, denied ? "blocked" : "connected", text);
	}
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
	json_array_foreach((json_t *)(uintptr_t)records, i, record)
		turn(report, record);
}

/* Appending past the maximum leaves the buffer as it was. */
static int finish(struct report *report, const char *end)
{
	return buffer_printf(report->out, "%s", end);
}

int run_report_markdown(const struct run_state *state, const json_t *records,
			struct buffer *out)
{
	struct report report = { out, STYLE_MARKDOWN };

	buffer_printf(out, "# Report of a loop\n\n");
	summary(&report, state);
	turns(&report, records);
	return finish(&report, "\n");
}

int run_report_html(const struct run_state *state, const json_t *records,
		    struct buffer *out)
{
	struct report report = { out, STYLE_HTML };

	buffer_printf(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n"
			   "<meta charset=\"utf-8\">\n<title>Report of a "
			   "loop</title>\n<style>body{font-family:sans-serif;"
			   "max-width:60em;margin:2em auto}svg{width:100%%}"
			   "</style>\n</head>\n<body>\n<h1>Report of a "
			   "loop</h1>\n");
	summary(&report, state);
	run_plot(records, out);
	turns(&report, records);
	return finish(&report, "</body>\n</html>\n");
}
