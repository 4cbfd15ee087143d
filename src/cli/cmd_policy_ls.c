/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_policy_ls.c - policy ls
 */
#include "cli/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/policy_place.h"
#include "cli/policy_set.h"
#include "cli/print.h"
#include "cli/table.h"
#include "policy/policy_file.h"
#include "policy/rule.h"

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(table, struct table *, table_free)

static json_t *row_json(const struct policy_set_item *item, const char *sandbox,
			const struct policy_line *line, const char *rule)
{
	return json_pack("{s:s, s:s?, s:s, s:s, s:i}", "scope",
			 policy_scope_name(item->scope), "sandbox",
			 item->scope == POLICY_SANDBOX ? sandbox : NULL, "rule",
			 rule, "source", item->name, "line", (int)line->number);
}

/* As the rule is understood, not as it was typed. */
static int line_text(const struct policy_line *line, char *out, size_t size,
		     struct error *err)
{
	struct policy_rule rule;

	if (line->kind != POLICY_LINE_RULE)
		return text_format(out, size, "%.*s", (int)line->len,
				   line->content);
	if (rule_parse(line->content, line->len, RULE_ALLOW, &rule, err) < 0)
		return -1;
	policy_rule_text(&rule, out, size);
	rule_release(&rule);
	return 0;
}

static int add_item(json_t *rows, const struct policy_set_item *item,
		    const char *sandbox, struct error *err)
{
	struct policy_file file = policy_file_of(item->text, item->len);
	char text[POLICY_RULE_TEXT_SIZE];
	struct policy_line line;
	int got;

	while ((got = policy_file_next(&file, &line, err)) > 0) {
		if (line.kind == POLICY_LINE_BLANK)
			continue;
		got = line_text(&line, text, sizeof(text), err);
		if (got < 0)
			break;
		json_array_append_new(rows,
				      row_json(item, sandbox, &line, text));
	}
	return got < 0 ? error_prefix(err, "%s:%u", item->name, line.number)
		       : 0;
}

/* All that holds for one sandbox, or for a new one. */
static int add_set(json_t *rows, const struct sandbox *sandbox,
		   struct error *err)
{
	AUTO_POLICY_SET struct policy_set set = { 0 };

	if (policy_set_load(sandbox, &set, err) < 0)
		return -1;
	for (size_t i = 0; i < set.count; i++)
		if (add_item(rows, &set.items[i],
			     sandbox ? sandbox->record.name : NULL, err) < 0)
			return -1;
	return 0;
}

/* The rules that somebody made: those of all sandboxes, then each one's own. */
static int add_own(json_t *rows, const struct sandbox *sandbox,
		   enum policy_scope scope, struct error *err)
{
	AUTO_POLICY_SET struct policy_set set = { 0 };

	if (policy_set_load(sandbox, &set, err) < 0)
		return -1;
	for (size_t i = 0; i < set.count; i++)
		if (set.items[i].scope == scope &&
		    add_item(rows, &set.items[i],
			     sandbox ? sandbox->record.name : NULL, err) < 0)
			return -1;
	return 0;
}

static int add_all(json_t *rows, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;

	if (store_open(&store, err) < 0 ||
	    add_own(rows, NULL, POLICY_GLOBAL, err) < 0)
		return -1;
	for (size_t i = 0; i < store.count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;

		if (store_find(&store, store.names[i], &sandbox, NULL) == 0 &&
		    add_own(rows, &sandbox, POLICY_SANDBOX, err) < 0)
			return -1;
	}
	return 0;
}

static void print_rows(const json_t *rows)
{
	static const char *const headings[] = { "SCOPE", "SANDBOX", "RULE",
						"SOURCE", NULL };
	AUTO(table) struct table *table = table_new(headings);
	json_t *row;
	size_t i;

	json_array_foreach((json_t *)rows, i, row)
	{
		const char *sandbox =
			json_string_value(json_object_get(row, "sandbox"));
		AUTO_FREE char *source = xasprintf(
			"%s:%lld",
			json_string_value(json_object_get(row, "source")),
			(long long)json_integer_value(
				json_object_get(row, "line")));

		table_cell(table,
			   json_string_value(json_object_get(row, "scope")));
		table_cell(table, sandbox ? sandbox : "");
		table_cell(table,
			   json_string_value(json_object_get(row, "rule")));
		table_cell(table, source);
	}
	table_print(table);
}

static int run(const struct options *options, struct error *err)
{
	AUTO(json) json_t *rows = json_array();
	const char *name = options->word_count
				   ? options->words[0]
				   : options_value(options, "sandbox");
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	int failed;

	if (name && sandbox_open(name, &sandbox, err) < 0)
		return -1;
	if (name)
		failed = add_set(rows, &sandbox, err);
	else if (options_flag(options, "global"))
		failed = add_set(rows, NULL, err);
	else
		failed = add_all(rows, err);
	if (failed)
		return -1;
	if (options_flag(options, "json"))
		print_json(rows);
	else
		print_rows(rows);
	return 0;
}

static const struct option_row rows_of_ls[] = {
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_policy_ls = {
	.name = "policy ls",
	.arguments = "[NAME]",
	.help = "list the rules that were made, or all that hold for a sandbox",
	.options = rows_of_ls,
	.options_too = policy_place_rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.max_words = 1,
	.failure_code = 1,
	.run = run,
};
