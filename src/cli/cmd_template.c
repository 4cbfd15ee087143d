/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_template.c - template ls, inspect, rm, prune
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
#include "cli/store.h"
#include "cli/table.h"
#include "cli/template_users.h"
#include "oci/image.h"
#include "oci/reference.h"
#include "provision/template.h"
#include "provision/template_tag.h"
#include "provision/warm.h"

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(table, struct table *, table_free)
AUTO_DEFINE(template, struct template *, template_release)

struct listing {
	struct table *table;
	json_t *rows;
	const struct store *store;
	bool names_only;
};

static json_t *text_or_null(const char *text)
{
	return text && *text ? json_string(text) : json_null();
}

static json_t *to_json(const struct store *store,
		       const struct template *template)
{
	const struct image *image = template->image;
	char created[40];
	json_t *json;

	table_time(template->created, created, sizeof(created));
	json = json_pack(
		"{s:s, s:s, s:s, s:s, s:I, s:I, s:s, s:b, s:o, s:o, "
		"s:b, s:o}",
		"name", template->name, "digest", template->id, "disk",
		template->disk, "source",
		template->source ? template->source : "", "size_bytes",
		(json_int_t) template->size_bytes, "used_bytes",
		(json_int_t) template->used_bytes, "created", created, "system",
		template->system, "users", template_users(store, template),
		"reference", text_or_null(template->reference), "stand_in",
		template->stand_in, "image",
		image ? json_string(image->manifest.digest) : json_null());
	return json;
}

static void add(void *ctx, const struct template *template)
{
	struct listing *listing = ctx;
	json_t *users;
	char text[64];

	if (listing->names_only)
		printf("%s\n", template->name);
	json_array_append_new(listing->rows, to_json(listing->store, template));
	table_cell(listing->table, template->name);
	text_format(text, sizeof(text), "%.19s",
		    template->image ? template->image->manifest.digest
				    : template->id);
	table_cell(listing->table, text);
	text_from_size(template->used_bytes, text, sizeof(text));
	table_cell(listing->table, text);
	table_ago(template->created, text, sizeof(text));
	table_cell(listing->table, text);
	users = template_users(listing->store, template);
	text_format(text, sizeof(text), "%zu", json_array_size(users));
	table_cell(listing->table, text);
	json_decref(users);
	table_cell(listing->table, template->system ? "system" : "user");
	table_cell(listing->table, template->source ? template->source : "");
}

static int list(const struct options *options, struct error *err)
{
	static const char *const headings[] = { "TEMPLATE", "DIGEST", "SIZE",
						"CREATED",  "USERS",  "PLACE",
						"SOURCE",   NULL };
	AUTO(table) struct table *table = table_new(headings);
	AUTO(json) json_t *rows = json_array();
	AUTO_STORE struct store store = STORE_INIT;
	struct listing listing = { table, rows, &store,
				   options_flag(options, "quiet") };

	if (store_open(&store, err) < 0)
		return -1;
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
	AUTO_STORE struct store store = STORE_INIT;
	AUTO(json) json_t *facts = NULL;

	if (store_open(&store, err) < 0 ||
	    template_find(options->words[0], template, err) < 0)
		return -1;
	facts = to_json(&store, template);
	if (template->image)
		json_object_set_new(facts, "image",
				    image_to_json(template->image));
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

/* A damaged one is to be removed too: then only its name is known. */
static int find_to_remove(const char *name, struct template *template,
			  struct error *err)
{
	struct error own = { 0 };

	if (template_find(name, template, &own) == 0)
		return 0;
	if (own.code == ENOENT) {
		*err = own;
		return -1;
	}
	template_release(template);
	template->name = xstrdup(name);
	return 0;
}

static bool is_system(const struct template *template)
{
	return template->reference ? template->name_is_system
				   : template->system;
}

static int confirm(const struct template *template, struct error *err)
{
	char question[REFERENCE_TEXT_MAX + 128];

	if (!isatty(0) || !isatty(2))
		return error_set(err, 0,
				 "template rm deletes %s: without a terminal "
				 "it needs -f",
				 template->name);
	text_format(question, sizeof(question), "Remove template %s%s?",
		    template->name,
		    is_system(template)
			    ? ", on which sandboxes of other users may stand"
			    : "");
	return print_ask(question) ? 0 : error_set(err, 0, "nothing removed");
}

/* The name of an image; its content when nothing needs that. */
static int remove_name(struct store *store, const struct template *template,
		       struct error *err)
{
	enum template_place place =
		is_system(template) ? TEMPLATE_SYSTEM : TEMPLATE_USER;
	struct template_pruned pruned;
	bool last = false;

	if (template_untag(template, &last, err) < 0)
		return -1;
	return last ? template_prune(place, TEMPLATE_PRUNE_DISKS,
				     template_users_of_content, store, &pruned,
				     err)
		    : 0;
}

/* Another name keeps what sandboxes stand on. */
static int check_unused(const struct store *store,
			const struct template *template, struct error *err)
{
	if (template->reference && template_has_other_name(template))
		return 0;
	return template_users_none(store, template, err);
}

static int remove_one(const char *name, const struct options *options,
		      struct error *err)
{
	struct template content = { 0 };
	AUTO(template) struct template *template = &content;
	AUTO_STORE struct store store = STORE_INIT;
	AUTO_CLOSE int lock = -1;

	if (find_to_remove(name, template, err) < 0)
		return -1;
	if (is_system(template) && geteuid() != 0)
		return error_set(err, 0,
				 "template %s belongs to all users of this "
				 "machine: run it with sudo",
				 template->name);
	if (store_open(&store, err) < 0 ||
	    check_unused(&store, template, err) < 0 ||
	    (!options_flag(options, "force") && confirm(template, err) < 0))
		return -1;
	/* once more, now that no sandbox can be added */
	lock = store_lock(&store, err);
	if (lock < 0 || store_list(&store, err) < 0 ||
	    check_unused(&store, template, err) < 0)
		return -1;
	if (template->reference
		    ? remove_name(&store, template, err) < 0
		    : template_remove(template->name,
				      template->system ? TEMPLATE_SYSTEM
						       : TEMPLATE_USER,
				      err) < 0)
		return -1;
	/* warm images that stood on it are of no use any more */
	return warm_prune(NULL, err);
}

static int rm(const struct options *options, struct error *err)
{
	for (size_t i = 0; i < options->word_count; i++)
		if (remove_one(options->words[i], options, err) < 0)
			return -1;
	return 0;
}

static const struct option_row rm_rows[] = {
	{ "force", 'f', OPTION_FLAG, NULL, "do not ask", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_template_rm = {
	.name = "template rm",
	.arguments = "NAME...",
	.help = "remove templates that no sandbox stands on",
	.options = rm_rows,
	.completes = COMPLETE_TEMPLATES,
	.min_words = 1,
	.max_words = COMMAND_ANY_WORDS,
	.failure_code = 1,
	.run = rm,
};

static int prune(const struct options *options, struct error *err)
{
	unsigned flags = TEMPLATE_PRUNE_DISKS | TEMPLATE_PRUNE_PARTS;
	bool dry = options_flag(options, "dry-run");
	AUTO_STORE struct store store = STORE_INIT;
	struct template_pruned pruned;
	AUTO_CLOSE int lock = -1;
	char size[32];

	if (store_open(&store, err) < 0)
		return -1;
	lock = store_lock(&store, err);
	if (lock < 0 || store_list(&store, err) < 0 ||
	    template_prune(TEMPLATE_USER,
			   flags | (dry ? TEMPLATE_PRUNE_DRY : 0),
			   template_users_of_content, &store, &pruned, err) < 0)
		return -1;
	text_from_size(pruned.bytes, size, sizeof(size));
	printf("%s%s: %u file system%s without a name, %u part%s of images\n",
	       size, dry ? " could go" : " given back", pruned.disks,
	       pruned.disks == 1 ? "" : "s", pruned.parts,
	       pruned.parts == 1 ? "" : "s");
	return dry ? 0 : warm_prune(NULL, err);
}

static const struct option_row prune_rows[] = {
	{ "dry-run", '\0', OPTION_FLAG, NULL,
	  "show how much could go, and remove nothing", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_template_prune = {
	.name = "template prune",
	.arguments = "",
	.help = "remove what no template and no sandbox needs",
	.options = prune_rows,
	.failure_code = 1,
	.run = prune,
};
