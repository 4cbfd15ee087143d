/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_logs.c - logs of a sandbox, and the events of all
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/mcp_host.h"
#include "cli/options.h"
#include "cli/store.h"
#include "cli/tail.h"
#include "state/paths.h"

/* Room for a line whose every byte becomes \xNN. */
#define SHOWN_MAX (4 * TAIL_LINE_MAX + 1)

static void print_line(void *ctx, const char *text, size_t len)
{
	static char shown[SHOWN_MAX];

	while (len && text[len - 1] == '\r')
		len--;
	fputs(ctx, stdout);
	/* tabs are harmless and common */
	for (size_t start = 0; start <= len;) {
		const char *tab = memchr(text + start, '\t', len - start);
		size_t part = tab ? (size_t)(tab - text) - start : len - start;

		text_printable(text + start, part, shown, sizeof(shown));
		fputs(shown, stdout);
		if (tab)
			putchar('\t');
		start += part + 1;
	}
	putchar('\n');
}

static int show_files(int folder, struct tail_file *files, size_t count,
		      bool follow, struct error *err)
{
	int result = 0;

	if (follow)
		result = tail_follow(folder, files, count, err);
	for (size_t i = 0; i < count; i++) {
		if (!follow) {
			tail_read(folder, &files[i]);
			tail_end(&files[i]);
		}
		tail_file_release(&files[i]);
	}
	return result;
}

static const char *text_of(const json_t *event, const char *key)
{
	const char *text = json_string_value(json_object_get(event, key));

	return text ? text : "";
}

static void print_call(void *ctx, const char *text, size_t len)
{
	json_t *call = json_loadb(text, len, 0, NULL);
	AUTO_FREE char *line = NULL;

	if (*(const bool *)ctx)
		line = json_dumps(call, JSON_COMPACT | JSON_ENSURE_ASCII);
	else
		line = xasprintf("%s  %-12s %-6s %-12s %s %s",
				 text_of(call, "time"), text_of(call, "server"),
				 text_of(call, "from"), text_of(call, "kind"),
				 text_of(call, "method"),
				 text_of(call, "tool"));
	if (json_is_object(call) && *(const bool *)ctx)
		puts(line ? line : "{}");
	else if (json_is_object(call))
		print_line("", line, strlen(line));
	json_decref(call);
}

static int calls(const struct sandbox *sandbox, const struct options *options,
		 struct error *err)
{
	bool json = options_flag(options, "json");
	bool follow = options_flag(options, "follow");
	struct tail_file files[2];
	size_t n = 0;

	if (!follow)
		tail_file_init(&files[n++], MCP_HOST_LOG_OLD, print_call,
			       &json);
	tail_file_init(&files[n++], MCP_HOST_LOG, print_call, &json);
	return show_files(sandbox->folder, files, n, follow, err);
}

static int logs(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	bool follow = options_flag(options, "follow");
	AUTO_CLOSE int machine = -1;
	struct tail_file files[4];
	size_t n = 0;

	if (store_open(&store, err) < 0 ||
	    store_find(&store, options->words[0], &sandbox, err) < 0)
		return -1;
	if (options_flag(options, "mcp"))
		return calls(&sandbox, options, err);
	if (options_flag(options, "json"))
		return options_usage(err, "--json goes with --mcp");
	machine = openat(sandbox.folder, SANDBOX_MACHINE_FOLDER,
			 O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (machine < 0)
		return error_set(err, errno, "sandbox %s", options->words[0]);
	if (!follow) {
		tail_file_init(&files[n++], STORE_SUPERVISOR_LOG ".old",
			       print_line, "");
		tail_file_init(&files[n++], STORE_CONSOLE_FILE ".old",
			       print_line, "console: ");
	}
	tail_file_init(&files[n++], STORE_SUPERVISOR_LOG, print_line, "");
	tail_file_init(&files[n++], STORE_CONSOLE_FILE, print_line,
		       "console: ");
	return show_files(machine, files, n, follow, err);
}

static const struct option_row logs_rows[] = {
	{ "follow", 'f', OPTION_FLAG, NULL, "go on as lines are added", NULL,
	  OPTION_HERE },
	{ "mcp", '\0', OPTION_FLAG, NULL,
	  "show calls of MCP servers of this host (--mcp of `run`) instead",
	  NULL, OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL,
	  "with --mcp: print a JSON object a line", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_logs = {
	.name = "logs",
	.arguments = "NAME",
	.help = "show a sandbox's console and its supervisor's log",
	.options = logs_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = logs,
};

static void print_event(void *ctx, const char *text, size_t len)
{
	json_t *event = json_loadb(text, len, 0, NULL);
	AUTO_FREE char *line = NULL;

	if (!json_is_object(event)) {
		json_decref(event);
		return;
	}
	if (*(const bool *)ctx)
		line = json_dumps(event, JSON_COMPACT | JSON_ENSURE_ASCII);
	else
		line = xasprintf("%s  %-16s %s", text_of(event, "time"),
				 text_of(event, "event"),
				 text_of(event, "sandbox"));
	json_decref(event);
	if (*(const bool *)ctx)
		puts(line ? line : "{}");
	else
		print_line("", line, strlen(line));
}

static int events(const struct options *options, struct error *err)
{
	AUTO_CLOSE int folder = paths_open(PATHS_STATE, NULL, err);
	bool json = options_flag(options, "json");
	bool follow = options_flag(options, "follow");
	struct tail_file files[2];
	size_t n = 0;

	if (folder < 0)
		return -1;
	if (!follow)
		tail_file_init(&files[n++], "events.jsonl.old", print_event,
			       &json);
	tail_file_init(&files[n++], "events.jsonl", print_event, &json);
	return show_files(folder, files, n, follow, err);
}

static const struct option_row events_rows[] = {
	{ "json", '\0', OPTION_FLAG, NULL, "print a JSON object a line", NULL,
	  OPTION_HERE },
	{ "follow", 'f', OPTION_FLAG, NULL, "go on as things happen", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_events = {
	.name = "events",
	.arguments = "",
	.help = "show what happened to sandboxes",
	.options = events_rows,
	.failure_code = 1,
	.run = events,
};
