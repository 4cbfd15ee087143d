/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_template.c - template ls, inspect, pull, rm
 */
#include "cli/command.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/print.h"
#include "cli/progress_view.h"
#include "cli/store.h"
#include "cli/table.h"
#include "provision/template.h"
#include "provision/warm.h"

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(table, struct table *, table_free)
AUTO_DEFINE(template, struct template *, template_release)

struct listing {
	struct table *table;
	json_t *rows;
	bool names_only;
};

static json_t *to_json(const struct template *template)
{
	char created[40];

	table_time(template->created, created, sizeof(created));
	return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:b}", "name",
			 template->name, "digest", template->id, "disk",
			 template->disk, "source",
			 template->source ? template->source : "", "size_bytes",
			 (json_int_t) template->size_bytes, "used_bytes",
			 (json_int_t) template->used_bytes, "created", created,
			 "system", template->system);
}

static void add(void *ctx, const struct template *template)
{
	struct listing *listing = ctx;
	char text[64];

	if (listing->names_only)
		printf("%s\n", template->name);
	json_array_append_new(listing->rows, to_json(template));
	table_cell(listing->table, template->name);
	text_format(text, sizeof(text), "%.19s", template->id);
	table_cell(listing->table, text);
	text_from_size(template->used_bytes, text, sizeof(text));
	table_cell(listing->table, text);
	table_ago(template->created, text, sizeof(text));
	table_cell(listing->table, text);
	table_cell(listing->table, template->system ? "system" : "user");
	table_cell(listing->table, template->source ? template->source : "");
}

static int list(const struct options *options, struct error *err)
{
	static const char *const headings[] = { "TEMPLATE", "DIGEST", "SIZE",
						"CREATED",  "PLACE",  "SOURCE",
						NULL };
	AUTO(table) struct table *table = table_new(headings);
	AUTO(json) json_t *rows = json_array();
	struct listing listing = { table, rows,
				   options_flag(options, "quiet") };

	if (template_each(add, &listing, err) < 0)
		return -1;
	if (listing.names_only)
		return 0;
	if (options_flag(options, "json"))
		print_json(rows);
	else
		table_print(table);
	return 0;
}

const struct command command_template_ls = {
	.name = "template ls",
	.arguments = "",
	.help = "list the templates",
	.options = command_list_rows,
	.failure_code = 1,
	.run = list,
};

static int inspect(const struct options *options, struct error *err)
{
	struct template content = { 0 };
	AUTO(template) struct template *template = &content;
	AUTO(json) json_t *facts = NULL;

	if (template_find(options->words[0], template, err) < 0)
		return -1;
	facts = to_json(template);
	print_json(facts);
	return 0;
}

const struct command command_template_inspect = {
	.name = "template inspect",
	.arguments = "NAME",
	.help = "tell everything about a template, as JSON",
	.completes = COMPLETE_TEMPLATES,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = inspect,
};

static int pull(const struct options *options, struct error *err)
{
	struct template content = { 0 };
	AUTO(template) struct template *template = &content;
	enum template_place place = options_flag(options, "system")
					    ? TEMPLATE_SYSTEM
					    : TEMPLATE_USER;

	if (place == TEMPLATE_SYSTEM && geteuid() != 0)
		return error_set(err, 0,
				 "--system writes for every user: run it with "
				 "sudo");
	if (template_ensure(options->words[0], place, progress_view(), template,
			    err) < 0)
		return -1;
	printf("%s\n", template->id);
	return 0;
}

static const struct option_row pull_rows[] = {
	{ "system", '\0', OPTION_FLAG, NULL,
	  "for every user of this machine (needs root)", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_template_pull = {
	.name = "template pull",
	.arguments = "base|tiny",
	.help = "make a built-in template ready",
	.options = pull_rows,
	.completes = "base|tiny",
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = pull,
};

/* "a, b and 3 more"; 0 when no sandbox stands on it. */
static size_t users_of(const struct store *store, const char *name, char *list,
		       size_t size)
{
	size_t count = 0, listed = 0;

	list[0] = '\0';
	for (size_t i = 0; i < store->count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
		size_t len = strlen(list);

		if (store_find(store, store->names[i], &sandbox, NULL) < 0 ||
		    strcmp(sandbox.record.template_name, name))
			continue;
		count++;
		if (len + SANDBOX_NAME_MAX + 32 > size)
			continue;
		listed++;
		text_format(list + len, size - len, "%s%s", len ? ", " : "",
			    store->names[i]);
	}
	if (listed < count) {
		size_t len = strlen(list);

		text_format(list + len, size - len, " and %zu more",
			    count - listed);
	}
	return count;
}

static int check_unused(const struct store *store, const char *name,
			struct error *err)
{
	char list[300];
	size_t count = users_of(store, name, list, sizeof(list));

	if (!count)
		return 0;
	return error_set(err, 0,
			 "template %s: %zu sandbox%s on it (%s): remove %s "
			 "first with `bawn rm`",
			 name, count, count == 1 ? " stands" : "es stand", list,
			 count == 1 ? "it" : "them");
}

/* Where it lies; a damaged one is to be removed too. */
static int place_of(const char *name, enum template_place *place,
		    struct error *err)
{
	struct template content = { 0 };
	AUTO(template) struct template *template = &content;
	struct error own = { 0 };

	*place = TEMPLATE_USER;
	if (template_find(name, template, &own) < 0) {
		if (own.code == ENOENT)
			*err = own;
		return own.code == ENOENT ? -1 : 0;
	}
	if (template->system)
		*place = TEMPLATE_SYSTEM;
	return 0;
}

static int confirm(const char *name, enum template_place place,
		   struct error *err)
{
	char question[256];

	if (!isatty(0) || !isatty(2))
		return error_set(err, 0,
				 "template rm deletes %s: without a terminal "
				 "it needs -f",
				 name);
	text_format(question, sizeof(question), "Remove template %s%s?", name,
		    place == TEMPLATE_SYSTEM
			    ? ", on which sandboxes of other users may stand"
			    : "");
	return print_ask(question) ? 0 : error_set(err, 0, "nothing removed");
}

static int rm(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	const char *name = options->words[0];
	enum template_place place;
	AUTO_CLOSE int lock = -1;

	if (place_of(name, &place, err) < 0)
		return -1;
	if (place == TEMPLATE_SYSTEM && geteuid() != 0)
		return error_set(err, 0,
				 "template %s belongs to all users of this "
				 "machine: run it with sudo",
				 name);
	if (store_open(&store, err) < 0 ||
	    check_unused(&store, name, err) < 0 ||
	    (!options_flag(options, "force") && confirm(name, place, err) < 0))
		return -1;
	/* once more, now that no sandbox can be added */
	lock = store_lock(&store, err);
	if (lock < 0 || store_list(&store, err) < 0 ||
	    check_unused(&store, name, err) < 0 ||
	    template_remove(name, place, err) < 0)
		return -1;
	/* warm images that stood on it are of no use any more */
	return warm_prune(NULL, err);
}

static const struct option_row rm_rows[] = {
	{ "force", 'f', OPTION_FLAG, NULL, "do not ask", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_template_rm = {
	.name = "template rm",
	.arguments = "NAME",
	.help = "remove a template that no sandbox stands on",
	.options = rm_rows,
	.completes = COMPLETE_TEMPLATES,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = rm,
};
