/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_ls.c - ls and inspect
 *
 * ls reads files and tests locks; it never waits for a supervisor, so that
 * one that hangs cannot hold up the list.
 */
#include "cli/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/facts.h"
#include "cli/loop_doing.h"
#include "cli/port_spec.h"
#include "cli/print.h"
#include "cli/store.h"
#include "cli/table.h"

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(table, struct table *, table_free)

/* Some loop runs, so that there is a column for it. */
static bool any_loop(const struct store *store)
{
	char doing[LOOP_DOING_MAX];

	for (size_t i = 0; i < store->count; i++)
		if (loop_doing_of(store->names[i], doing))
			return true;
	return false;
}

/* Columns that are not always there. */
struct columns {
	bool sizes, loops;
};

static void add_size(struct table *table, const json_t *disk, const char *name)
{
	json_int_t bytes = json_integer_value(json_object_get(disk, name));
	char text[32];

	text_from_size((uint64_t)bytes, text, sizeof(text));
	table_cell(table, text);
}

/* Its folder is looked through, which takes longer than all the rest. */
static void add_sizes(struct table *table, const struct sandbox *sandbox)
{
	AUTO(json) json_t *disk = facts_disk(sandbox);

	add_size(table, disk, "own_bytes");
	add_size(table, disk, "shared_bytes");
}

static void add_cells(struct table *table, const struct sandbox *sandbox,
		      const struct sandbox_state *state,
		      const struct columns *with)
{
	const struct sandbox_record *record = &sandbox->record;
	char text[320], doing[LOOP_DOING_MAX];

	table_cell(table, record->name);
	table_cell(table, record->agent);
	facts_status(state, text, sizeof(text));
	table_cell(table, text);
	facts_isolation(sandbox, state, text, sizeof(text));
	table_cell(table, text);
	port_spec_list(&record->ports, text, sizeof(text));
	table_cell(table, text);
	if (with->sizes)
		add_sizes(table, sandbox);
	facts_workspace(record, text, sizeof(text));
	table_cell(table, text);
	if (with->loops)
		table_cell(table,
			   loop_doing_of(record->name, doing) ? doing : "");
}

static json_t *row_of(const struct sandbox *sandbox,
		      const struct sandbox_state *state,
		      const struct columns *with)
{
	json_t *row = facts_row(sandbox, state);
	char doing[LOOP_DOING_MAX];

	if (loop_doing_of(sandbox->record.name, doing))
		json_object_set_new(row, "doing", json_string(doing));
	if (with->sizes)
		json_object_set_new(row, "disk", facts_disk(sandbox));
	return row;
}

static void add_damaged(struct table *table, json_t *list, const char *name,
			const struct columns *with, const struct error *err)
{
	table_cell(table, name);
	table_cell(table, "");
	table_cell(table, "failed");
	table_cell(table, "");
	table_cell(table, "");
	if (with->sizes) {
		table_cell(table, "");
		table_cell(table, "");
	}
	table_cell(table, err->text);
	if (with->loops)
		table_cell(table, "");
	json_array_append_new(list,
			      json_pack("{s:s, s:s, s:s, s:s, s:[]}", "name",
					name, "agent", "", "status", "failed",
					"reason", err->text, "workspaces"));
}

#define COLUMNS_MAX 9

/* shown is the table's as long as that lives. */
static struct table *new_table(const struct columns *with,
			       const char *shown[COLUMNS_MAX + 1])
{
	static const char *const headings[COLUMNS_MAX] = {
		"SANDBOX", "AGENT",  "STATUS",    "ISOLATION", "PORTS",
		"DISK",    "SHARED", "WORKSPACE", "DOING"
	};
	size_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(headings); i++) {
		bool size = i == 5 || i == 6, loop = i == 8;

		if ((!size || with->sizes) && (!loop || with->loops))
			shown[count++] = headings[i];
	}
	shown[count] = NULL;
	return table_new(shown);
}

static int list(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	AUTO(table) struct table *table = NULL;
	AUTO(json) json_t *rows = json_array();
	bool json = options_flag(options, "json");
	struct columns with = { .sizes = options_flag(options, "size") };
	const char *shown[COLUMNS_MAX + 1];

	if (store_open(&store, err) < 0)
		return -1;
	with.loops = !json && any_loop(&store);
	table = new_table(&with, shown);
	for (size_t i = 0; i < store.count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
		struct sandbox_state state;
		struct error damage = { 0 };

		if (options_flag(options, "quiet")) {
			printf("%s\n", store.names[i]);
			continue;
		}
		if (store_find(&store, store.names[i], &sandbox, &damage) < 0 ||
		    sandbox_state_load(sandbox.folder, &state, &damage) < 0)
			add_damaged(table, rows, store.names[i], &with,
				    &damage);
		else if (json)
			json_array_append_new(rows,
					      row_of(&sandbox, &state, &with));
		else
			add_cells(table, &sandbox, &state, &with);
	}
	if (json && !options_flag(options, "quiet"))
		print_json(rows);
	else if (!options_flag(options, "quiet"))
		table_print(table);
	return 0;
}

static const struct option_row list_rows[] = {
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ "quiet", 'q', OPTION_FLAG, NULL, "print names only", NULL,
	  OPTION_HERE },
	{ "size", 's', OPTION_FLAG, NULL,
	  "show what each takes of the disk, and shares with others", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_ls = {
	.name = "ls",
	.arguments = "",
	.help = "list the sandboxes",
	.options = list_rows,
	.flags = COMMAND_USES_STORE,
	.failure_code = 1,
	.run = list,
};

static int inspect(const struct options *options, struct error *err)
{
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	AUTO(json) json_t *facts = NULL;
	struct sandbox_state state;

	if (sandbox_open(options->words[0], &sandbox, err) < 0 ||
	    sandbox_state_load(sandbox.folder, &state, err) < 0)
		return -1;
	facts = facts_all(&sandbox, &state);
	print_json(facts);
	return 0;
}

static const struct option_row inspect_rows[] = {
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON (always so)", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_inspect = {
	.name = "inspect",
	.arguments = "NAME",
	.help = "tell everything about a sandbox, as JSON",
	.options = inspect_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = inspect,
};
