/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_ports.c - ports
 *
 * The record says what the next start publishes. A running sandbox's launcher
 * takes the new list first: what cannot be had is not written down.
 */
#include "cli/command.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/create.h"
#include "cli/launcher.h"
#include "cli/port_spec.h"
#include "cli/print.h"
#include "cli/store.h"
#include "cli/table.h"

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(table, struct table *, table_free)

/* Why each port of the running machine is not there; NULL: nobody runs. */
static json_t *running_ports(const struct sandbox *sandbox)
{
	AUTO(json)
	json_t *answer =
		launcher_call(sandbox, json_pack("{s:s}", "op", "ports"), NULL);

	return json_incref(json_object_get(answer, "ports"));
}

static const char *error_of(const json_t *ports, const struct port_record *port)
{
	json_t *one;
	size_t i;

	json_array_foreach((json_t *)ports, i, one)
	{
		const char *address =
			json_string_value(json_object_get(one, "address"));

		if (address && !strcmp(address, port->address) &&
		    json_integer_value(json_object_get(one, "host")) ==
			    port->host)
			return json_string_value(json_object_get(one, "error"));
	}
	return NULL;
}

static void show(const struct sandbox *sandbox, bool json)
{
	static const char *const headings[] = { "ADDRESS", "HOST", "SANDBOX",
						"STATUS", NULL };
	const struct port_list *list = &sandbox->record.ports;
	AUTO(table) struct table *table = table_new(headings);
	AUTO(json) json_t *running = running_ports(sandbox);
	AUTO(json) json_t *rows = json_array();
	char host[16], guest[16];

	for (size_t i = 0; i < list->count; i++) {
		const struct port_record *port = &list->items[i];
		const char *why = error_of(running, port);
		const char *status = !running ? "stopped"
				     : why    ? why
					      : "published";

		text_format(host, sizeof(host), "%u", port->host);
		text_format(guest, sizeof(guest), "%u/tcp", port->guest);
		table_cell(table, port->address);
		table_cell(table, host);
		table_cell(table, guest);
		table_cell(table, status);
		json_array_append_new(
			rows,
			json_pack("{s:s, s:i, s:i, s:s, s:b, s:s?}", "address",
				  port->address, "host", port->host, "guest",
				  port->guest, "protocol", "tcp", "published",
				  running && !why, "error", why));
	}
	if (json)
		print_json(rows);
	else
		table_print(table);
}

static int unpublish(const char *text, struct port_list *list,
		     struct error *err)
{
	struct port_record port;
	size_t before = list->count;

	if (port_spec_parse(text, &port, err) < 0)
		return options_usage(err, "%s", err->text);
	for (size_t i = list->count; i-- > 0;) {
		const struct port_record *one = &list->items[i];

		if (one->guest == port.guest &&
		    !strcmp(one->address, port.address) &&
		    (!port.host || port.host == one->host))
			port_list_remove(list, i);
	}
	return list->count < before
		       ? 0
		       : error_set(err, 0,
				   "%s is not published (`bawn ports` "
				   "lists what is)",
				   text);
}

static int change(const struct options *options, const struct store *store,
		  struct port_list *list, struct error *err)
{
	struct port_list wanted = { .count = 0 };
	const char *text;
	size_t at = 0;

	while ((text = options_next(options, "unpublish", &at)))
		if (unpublish(text, list, err) < 0)
			return -1;
	at = 0;
	while ((text = options_next(options, "publish", &at))) {
		if (wanted.count == PORT_LIST_MAX)
			return options_usage(err, "too many ports");
		if (port_spec_parse(text, &wanted.items[wanted.count++], err) <
		    0)
			return options_usage(err, "%s", err->text);
	}
	return create_ports(store, &wanted, list, err);
}

/* A sandbox that does not run has nobody to tell. */
static int tell(const struct sandbox *sandbox, const struct port_list *list,
		struct error *err)
{
	struct error failure = { 0 };

	if (launcher_ask(sandbox,
			 json_pack("{s:s, s:o}", "op", "ports", "published",
				   port_list_encode(list)),
			 &failure) == 0 ||
	    failure.code == ENOENT || failure.code == ECONNREFUSED)
		return 0;
	*err = failure;
	return -1;
}

/* What is new, as it is now. */
static void report(const struct port_list *before, const struct port_list *now)
{
	char text[PORT_SPEC_TEXT_SIZE];

	for (size_t i = 0; i < now->count; i++) {
		const struct port_record *port = &now->items[i];

		if (port_list_find(before, port->address, port->host))
			continue;
		port_spec_format(port, text);
		printf("%s\n", text);
		if (port_spec_is_open(port))
			fprintf(stderr,
				"bawn: other computers can reach port %u\n",
				port->host);
	}
}

static int run_change(const struct options *options, const struct store *store,
		      struct sandbox *sandbox, struct error *err)
{
	struct port_list before;
	AUTO_CLOSE int lock = fileio_lock(sandbox->folder, STORE_LOCK_FILE,
					  FILEIO_LOCK_WAIT, err);

	if (lock < 0)
		return -1;
	/* what was read before may be old */
	sandbox_record_release(&sandbox->record);
	if (sandbox_record_load(sandbox->folder, &sandbox->record, err) < 0)
		return -1;
	before = sandbox->record.ports;
	if (change(options, store, &sandbox->record.ports, err) < 0 ||
	    tell(sandbox, &sandbox->record.ports, err) < 0 ||
	    sandbox_record_save(sandbox->folder, &sandbox->record, err) < 0)
		return -1;
	report(&before, &sandbox->record.ports);
	return 0;
}

static int run(const struct options *options, struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;

	if (store_open(&store, err) < 0 ||
	    store_find(&store, options->words[0], &sandbox, err) < 0)
		return -1;
	if (options_value(options, "publish") ||
	    options_value(options, "unpublish"))
		return run_change(options, &store, &sandbox, err);
	show(&sandbox, options_flag(options, "json"));
	return 0;
}

static const struct option_row rows[] = {
	{ "publish", '\0', OPTION_LIST, "[[IP:]HOST:]PORT",
	  "make a port of the sandbox reachable on the host", NULL,
	  OPTION_HERE },
	{ "unpublish", '\0', OPTION_LIST, "[[IP:]HOST:]PORT",
	  "take one back, and close its connections", NULL, OPTION_HERE },
	{ "json", '\0', OPTION_FLAG, NULL, "print JSON", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_ports = {
	.name = "ports",
	.arguments = "NAME",
	.help = "list, publish or take back ports of a sandbox",
	.details = "Of a running sandbox at once; it holds for later starts "
		   "too. IP is 127.0.0.1 and HOST a free\nport where they are "
		   "not given; what was chosen is printed.",
	.options = rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = run,
};
