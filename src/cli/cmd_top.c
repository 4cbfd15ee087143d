/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_top.c - what each sandbox takes of the host, again and again
 *
 * CPU is a share of the time between two looks, so that even a single answer
 * takes one of them.
 */
#include "cli/command.h"

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/facts.h"
#include "cli/print.h"
#include "cli/store.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/usage.h"

#define FIRST_LOOK_MS 500
#define LOOK_MS 2000
#define CTRL_C 0x03

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(table, struct table *, table_free)

struct row {
	char *name;
	struct sandbox_state state;
	struct usage usage;
	uint64_t cpu_ms_before;
	int64_t looked_ms;
	unsigned cpu_percent; /* of one CPU: 200 is two of them */
	bool seen;            /* in this look */
};

struct top {
	struct row **rows;
	size_t count;
};

static void row_free(struct row *row)
{
	usage_release(&row->usage);
	free(row->name);
	free(row);
}

static void top_release(struct top *top)
{
	for (size_t i = 0; i < top->count; i++)
		row_free(top->rows[i]);
	free(top->rows);
}

static struct row *row_of(struct top *top, const char *name)
{
	struct row *row;

	for (size_t i = 0; i < top->count; i++)
		if (!strcmp(top->rows[i]->name, name))
			return top->rows[i];
	row = xcalloc(1, sizeof(*row));
	row->name = xstrdup(name);
	usage_init(&row->usage);
	top->rows = xrealloc(top->rows, (top->count + 1) * sizeof(*top->rows));
	top->rows[top->count++] = row;
	return row;
}

static void look_at(struct top *top, const struct store *store,
		    const char *name)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	struct sandbox_state state;
	int64_t now = loop_now_ms();
	struct row *row;

	/* one that is damaged, or was removed meanwhile, takes nothing */
	if (store_find(store, name, &sandbox, NULL) < 0 ||
	    sandbox_state_load(sandbox.folder, &state, NULL) < 0)
		return;
	row = row_of(top, name);
	row->state = state;
	row->seen = true;
	row->cpu_ms_before = row->usage.cpu_ms;
	usage_read(&row->usage, &sandbox, &state);
	row->cpu_percent = 0;
	if (row->looked_ms && now > row->looked_ms &&
	    row->usage.cpu_ms > row->cpu_ms_before)
		row->cpu_percent =
			(unsigned)((row->usage.cpu_ms - row->cpu_ms_before) *
				   100 / (uint64_t)(now - row->looked_ms));
	row->looked_ms = now;
}

static int look(struct top *top, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	size_t kept = 0;

	for (size_t i = 0; i < top->count; i++)
		top->rows[i]->seen = false;
	if (store_open(&store, err) < 0)
		return -1;
	for (size_t i = 0; i < store.count; i++)
		look_at(top, &store, store.names[i]);
	for (size_t i = 0; i < top->count; i++) {
		if (top->rows[i]->seen)
			top->rows[kept++] = top->rows[i];
		else
			row_free(top->rows[i]);
	}
	top->count = kept;
	return 0;
}

static void size_cell(struct table *table, uint64_t bytes)
{
	char text[32];

	text_from_size(bytes, text, sizeof(text));
	table_cell(table, text);
}

static void show_table(const struct top *top)
{
	static const char *const headings[] = { "SANDBOX", "STATUS", "CPU",
						"MEMORY",  "DISK",   "NET IN",
						"NET OUT", NULL };
	AUTO(table) struct table *table = table_new(headings);
	char text[320];

	for (size_t i = 0; i < top->count; i++) {
		const struct row *row = top->rows[i];

		table_cell(table, row->name);
		facts_status(&row->state, text, sizeof(text));
		table_cell(table, text);
		text_format(text, sizeof(text), "%u%%", row->cpu_percent);
		table_cell(table, text);
		size_cell(table, row->usage.memory_bytes);
		size_cell(table, row->usage.disk_bytes);
		size_cell(table, row->usage.net_in);
		size_cell(table, row->usage.net_out);
	}
	table_print(table);
}

static void show_json(const struct top *top)
{
	AUTO(json) json_t *rows = json_array();

	for (size_t i = 0; i < top->count; i++) {
		const struct row *row = top->rows[i];
		const struct usage *usage = &row->usage;

		json_array_append_new(
			rows,
			json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "name",
				  row->name, "status",
				  sandbox_status_name(row->state.status),
				  "cpu_percent", (json_int_t)row->cpu_percent,
				  "memory_bytes",
				  (json_int_t)usage->memory_bytes, "disk_bytes",
				  (json_int_t)usage->disk_bytes, "net_in_bytes",
				  (json_int_t)usage->net_in, "net_out_bytes",
				  (json_int_t)usage->net_out));
	}
	print_json(rows);
}

static int once(struct top *top, bool json, struct error *err)
{
	if (look(top, err) < 0)
		return -1;
	poll(NULL, 0, FIRST_LOOK_MS);
	if (look(top, err) < 0)
		return -1;
	if (json)
		show_json(top);
	else
		show_table(top);
	return 0;
}

/* Keys come one by one, and a newline still begins a line. */
static int take_terminal(struct error *err)
{
	struct termios mode;

	if (terminal_raw(STDIN_FILENO, err) < 0)
		return -1;
	if (tcgetattr(STDIN_FILENO, &mode) == 0) {
		mode.c_oflag |= OPOST | ONLCR;
		tcsetattr(STDIN_FILENO, TCSANOW, &mode);
	}
	return 0;
}

/* True when the user has had enough. */
static bool wait_for_key(int ms)
{
	struct pollfd in = { STDIN_FILENO, POLLIN, 0 };
	char key;

	if (poll(&in, 1, ms) <= 0)
		return false;
	return read(STDIN_FILENO, &key, 1) <= 0 || key == 'q' || key == CTRL_C;
}

static int live(struct top *top, struct error *err)
{
	int wait_ms = FIRST_LOOK_MS, result;
	bool enough = false;

	if (take_terminal(err) < 0)
		return -1;
	fputs("\033[?1049h\033[?25l", stdout);
	while ((result = look(top, err)) == 0 && !enough) {
		fputs("\033[H\033[2J", stdout);
		show_table(top);
		fputs("\nq: end\n", stdout);
		if (fflush(stdout) != 0)
			break;
		enough = wait_for_key(wait_ms);
		wait_ms = LOOK_MS;
	}
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	terminal_restore();
	return result;
}

static int run(const struct options *options, struct error *err)
{
	bool json = options_flag(options, "json");
	struct top top = { 0 };
	int result;

	if (json || options_flag(options, "once") || !isatty(STDIN_FILENO) ||
	    !isatty(STDOUT_FILENO))
		result = once(&top, json, err);
	else
		result = live(&top, err);
	top_release(&top);
	return result;
}

static const struct option_row rows[] = {
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON, once", NULL,
	  OPTION_HERE },
	{ "once", '\0', OPTION_FLAG, NULL, "print the table once and end", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_top = {
	.name = "top",
	.arguments = "",
	.help = "show what each sandbox takes of CPU, memory, disk and network",
	.options = rows,
	.flags = COMMAND_USES_STORE,
	.failure_code = 1,
	.run = run,
};
