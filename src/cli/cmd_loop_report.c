/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_loop_report.c - loop report
 */
#include "cli/command.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "cli/loop_options.h"
#include "cli/loop_place.h"
#include "cli/print.h"
#include "loop/run_report.h"
#include "loop/run_state.h"

AUTO_DEFINE(json, json_t *, json_decref)

static int write_out(const struct options *options, const struct buffer *text,
		     struct error *err)
{
	const char *file = options_value(options, "output");

	if (file)
		return fileio_replace(AT_FDCWD, file, text->data, text->len,
				      0644, 0, err);
	fwrite(text->data, 1, text->len, stdout);
	return 0;
}

static int report(const struct options *options, const struct run_state *state,
		  const json_t *records, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(RUN_REPORT_MAX);
	int failed;

	if (options_flag(options, "json")) {
		AUTO(json) json_t *json = run_state_encode(state);

		json_object_set(json, "iterations",
				(json_t *)(uintptr_t)records);
		print_json(json);
		return 0;
	}
	failed = options_flag(options, "html")
			 ? run_report_html(state, records, &text)
			 : run_report_markdown(state, records, &text);
	if (failed < 0)
		return error_set(err, 0, "the report is too long");
	return write_out(options, &text, err);
}

static int run(const struct options *options, struct error *err)
{
	AUTO_LOOP_OPTIONS struct loop_options wish = LOOP_OPTIONS_INIT;
	AUTO_RUN_STATE struct run_state state = RUN_STATE_INIT;
	AUTO(json) json_t *records = NULL;
	AUTO_CLOSE int folder = -1;
	int found;

	if (loop_options_place(&wish, options, err) < 0)
		return -1;
	found = loop_place_find(wish.agent_given ? wish.agent : NULL, wish.path,
				&folder, &state, err);
	if (found < 0)
		return -1;
	if (!found)
		return error_set(err, 0, "no loop has run in %s", wish.path);
	records = run_history_load(folder, err);
	return records ? report(options, &state, records, err) : -1;
}

static const struct option_row rows[] = {
	{ "html", '\0', OPTION_FLAG, NULL, "HTML with a plot, not Markdown",
	  NULL, OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "the state and all records", NULL,
	  OPTION_HERE },
	{ "output", 'o', OPTION_VALUE, "FILE", "write it there", COMPLETE_FILES,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_loop_report = {
	.name = "loop report",
	.arguments = "[AGENT] [PATH]",
	.help = "what a loop did, for each iteration",
	.options = rows,
	.completes = COMPLETE_RUN,
	.max_words = 2,
	.failure_code = 125,
	.usage_code = 64,
	.run = run,
};
