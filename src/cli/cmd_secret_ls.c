/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_secret_ls.c - secret ls
 */
#include "cli/command.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "cli/print.h"
#include "cli/store.h"
#include "cli/table.h"
#include "state/logins.h"
#include "state/secret_bindings.h"
#include "state/secret_store.h"
#include "state/services.h"

#define CELL_MAX 512

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(table, struct table *, table_free)

/* Everything but the value and the placeholder. */
static json_t *row_of(const json_t *binding, const char *sandbox, bool is_login)
{
	const char *source = json_object_get(binding, "command") ? "command"
			     : is_login                          ? "login"
								 : "value";

	return json_pack("{s:O, s:s?, s:s, s:O, s:O, s:O, s:O}", "name",
			 json_object_get(binding, "name"), "sandbox", sandbox,
			 "source", source, "hosts",
			 json_object_get(binding, "hosts"), "paths",
			 json_object_get(binding, "paths"), "variables",
			 json_object_get(binding, "variables"), "plain_http",
			 json_object_get(binding, "plain_http"));
}

/* How long it lasts, and what becomes of it then. */
static void add_login(json_t *row, const json_t *login, const json_t *service)
{
	json_t *expires = json_object_get(login, "expires");

	json_object_set_new(row, "expires",
			    expires ? json_incref(expires) : json_null());
	json_object_set_new(
		row, "renews",
		json_boolean(login_is_renewable(login) &&
			     json_object_get(service, SERVICE_RENEW)));
	json_object_set_new(row, "refused",
			    json_boolean(json_object_get(login, "refused")));
}

static int add_scope(json_t *rows, int folder, const char *scope,
		     const char *sandbox, const json_t *services,
		     struct error *err)
{
	AUTO(json) json_t *store = secret_store_load(folder, scope, err);
	AUTO(json) json_t *list = NULL;
	json_t *binding, *row;
	size_t i;

	if (!store)
		return -1;
	/* What is for all is told to sandboxes by variables. */
	list = secret_bindings_make(services, sandbox ? NULL : store,
				    sandbox ? store : NULL, NULL);
	json_array_foreach(list, i, binding)
	{
		const char *name =
			json_string_value(json_object_get(binding, "name"));
		bool is_login = !strcmp(
			json_string_value(json_object_get(binding, "scope")),
			SECRET_BINDINGS_LOGIN);

		row = row_of(binding, sandbox, is_login);
		if (is_login)
			add_login(row, logins_of(store, name),
				  services_find(services, name));
		json_array_append_new(rows, row);
	}
	return 0;
}

static int collect(json_t *rows, const char *only, struct error *err)
{
	AUTO(json) json_t *services = services_load(err);
	AUTO_CLOSE int folder = services ? secret_store_open(err) : -1;
	AUTO_STORE struct store store = STORE_INIT;

	if (folder < 0 || store_open(&store, err) < 0 ||
	    add_scope(rows, folder, SECRET_STORE_ALL, NULL, services, err) < 0)
		return -1;
	for (size_t i = 0; i < store.count; i++) {
		AUTO_SANDBOX struct sandbox one = SANDBOX_INIT;

		if ((only && strcmp(only, store.names[i]) != 0) ||
		    store_find(&store, store.names[i], &one, NULL) < 0)
			continue;
		if (add_scope(rows, folder, one.record.id, store.names[i],
			      services, err) < 0)
			return -1;
	}
	return 0;
}

static void cell_list(struct table *table, const json_t *list)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CELL_MAX);
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item)(void) buffer_printf(
		&text, "%s%s", i ? " " : "", json_string_value(item));
	table_cell(table, text.len ? buffer_str(&text) : "-");
}

/* "3 h": one unit is enough to know. */
static void write_span(struct buffer *out, long long seconds)
{
	static const struct {
		long long seconds;
		const char *name;
	} units[] = { { 86400, "days" }, { 3600, "h" }, { 60, "min" } };

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (seconds >= 2 * units[i].seconds) {
			(void)buffer_printf(out, "%lld %s",
					    seconds / units[i].seconds,
					    units[i].name);
			return;
		}
	}
	(void)buffer_printf(out, "%lld s", seconds);
}

static void cell_expiry(struct table *table, const json_t *row)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CELL_MAX);
	const json_t *expires = json_object_get(row, "expires");
	bool renews = json_is_true(json_object_get(row, "renews"));
	long long left = json_integer_value(expires) - (long long)time(NULL);

	if (json_is_true(json_object_get(row, "refused"))) {
		table_cell(table, "log in again");
		return;
	}
	if (!json_is_integer(expires)) {
		table_cell(table, renews ? "renews itself" : "-");
		return;
	}
	if (left <= 0) {
		table_cell(table, renews ? "renews itself at its next use"
					 : "over, log in again");
		return;
	}
	(void)buffer_printf(&text, "in ");
	write_span(&text, left);
	if (renews)
		(void)buffer_printf(&text, ", renews itself");
	table_cell(table, buffer_str(&text));
}

static void print_table(const json_t *rows)
{
	static const char *const headings[] = { "SECRET", "SANDBOX",
						"SOURCE", "VARIABLES",
						"HOSTS",  "EXPIRES",
						NULL };
	AUTO(table) struct table *table = table_new(headings);
	json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
	{
		const char *sandbox =
			json_string_value(json_object_get(row, "sandbox"));

		table_cell(table,
			   json_string_value(json_object_get(row, "name")));
		table_cell(table, sandbox ? sandbox : "(all)");
		table_cell(table,
			   json_string_value(json_object_get(row, "source")));
		cell_list(table, json_object_get(row, "variables"));
		cell_list(table, json_object_get(row, "hosts"));
		cell_expiry(table, row);
	}
	table_print(table);
}

static int ls(const struct options *options, struct error *err)
{
	AUTO(json) json_t *rows = json_array();
	json_t *row;
	size_t i;

	secret_store_wipe_json();
	if (collect(rows, options_value(options, "sandbox"), err) < 0)
		return -1;
	if (options_flag(options, "json")) {
		print_json(rows);
	} else if (options_flag(options, "quiet")) {
		json_array_foreach(rows, i, row)
			printf("%s\n",
			       json_string_value(json_object_get(row, "name")));
	} else {
		print_table(rows);
	}
	return 0;
}

static const struct option_row place_rows[] = {
	{ "sandbox", '\0', OPTION_VALUE, "NAME",
	  "for all sandboxes, and for this one", COMPLETE_SANDBOXES,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_secret_ls = {
	.name = "secret ls",
	.arguments = "",
	.help = "list secrets and logins, without their values",
	.options = place_rows,
	.options_too = command_list_rows,
	.flags = COMMAND_USES_STORE,
	.failure_code = 1,
	.run = ls,
};
