/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_secret.c - secret set and rm
 */
#include "cli/command.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/secret.h"
#include "base/text.h"
#include "cli/keys.h"
#include "cli/secret_input.h"
#include "cli/store.h"
#include "policy/rule.h"
#include "state/logins.h"
#include "state/secret_store.h"
#include "state/services.h"

AUTO_DEFINE(json, json_t *, json_decref)

/* Where a command works: all sandboxes, or one. */
struct place {
	int folder, lock;       /* owned */
	struct sandbox sandbox; /* open when it is one */
	const char *scope;      /* of secret_store.h */
	json_t *store;          /* owned */
};

static void place_release(struct place *place)
{
	json_decref(place->store);
	sandbox_close(&place->sandbox);
	if (place->lock >= 0)
		close(place->lock);
	if (place->folder >= 0)
		close(place->folder);
}
#define AUTO_PLACE __attribute__((cleanup(place_release)))
#define PLACE_INIT \
	((struct place){ .folder = -1, .lock = -1, .sandbox = SANDBOX_INIT })

static int place_open(const struct options *options, struct place *place,
		      struct error *err)
{
	const char *name = options_value(options, "sandbox");

	secret_store_wipe_json();
	place->scope = SECRET_STORE_ALL;
	if (name && sandbox_open(name, &place->sandbox, err) < 0)
		return -1;
	if (name)
		place->scope = place->sandbox.record.id;
	place->folder = secret_store_open(err);
	if (place->folder < 0)
		return -1;
	place->lock = secret_store_lock(place->folder, err);
	if (place->lock < 0)
		return -1;
	place->store = secret_store_load(place->folder, place->scope, err);
	return place->store ? 0 : -1;
}

/* Writes it, lets others in again, and tells whom it concerns. */
static int place_save(struct place *place, struct error *err)
{
	if (secret_store_save(place->folder, place->scope, place->store, err) <
	    0)
		return -1;
	close(TAKE_FD(place->lock));
	return place->sandbox.folder >= 0
		       ? keys_tell(&place->sandbox, NULL, err)
		       : keys_tell_all(err);
}

/* A name, not an address, and not every name there is. */
static int check_host(const char *text, struct error *err)
{
	struct policy_rule rule;
	bool good;

	if (rule_parse(text, strlen(text), RULE_ALLOW, &rule, err) < 0)
		return -1;
	good = !rule.path && rule.methods == UINT32_MAX &&
	       rule.host.kind != HOST_ANY && rule.host.kind != HOST_ADDRESS &&
	       rule.host.kind != HOST_LOCALHOST;
	rule_release(&rule);
	return good ? 0
		    : options_usage(err,
				    "%s: --host takes the name of a host, "
				    "perhaps with a port",
				    text);
}

static json_t *hosts_of(const struct options *options, struct error *err)
{
	AUTO(json) json_t *hosts = json_array();
	const char *text;
	size_t at = 0;

	while ((text = options_next(options, "host", &at))) {
		if (check_host(text, err) < 0)
			return NULL;
		json_array_append_new(hosts, json_string(text));
	}
	return TAKE_PTR(hosts);
}

/* "NAME" or "NAME: FORMAT". */
static json_t *headers_of(const struct options *options, struct error *err)
{
	const char *text = options_value(options, "header");
	size_t len = text ? strcspn(text, ":") : 0;
	AUTO_FREE char *name = text ? xstrndup(text, len) : NULL;
	const char *format = "%s";
	json_t *header;

	if (!text)
		return json_array();
	for (char *p = name; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	if (text[len])
		format = text + len + 1 + strspn(text + len + 1, " ");
	else if (!strcmp(name, "authorization"))
		format = "Bearer %s";
	header = json_pack("{s:s, s:s}", "name", name, "format", format);
	if (header && service_check_header(header, err) == 0)
		return json_pack("[o]", header);
	json_decref(header);
	err->code = OPTIONS_USAGE;
	return NULL;
}

static json_t *repos_of(const struct options *options, struct error *err)
{
	AUTO(json) json_t *repos = json_array();
	const char *text;
	size_t at = 0;

	while ((text = options_next(options, "repo", &at))) {
		const char *slash = strchr(text, '/');
		bool good = slash && slash != text && slash[1] &&
			    !strchr(slash + 1, '/') && !strstr(text, "..");

		for (const char *p = text; *p; p++)
			good &= isalnum((unsigned char)*p) ||
				strchr("._-/", *p);
		if (!good) {
			options_usage(err, "%s: --repo takes OWNER/NAME", text);
			return NULL;
		}
		json_array_append_new(repos, json_string(text));
	}
	return TAKE_PTR(repos);
}

static json_t *variables_of(const struct options *options)
{
	json_t *list = json_array();
	const char *text;
	size_t at = 0;

	while ((text = options_next(options, "env-var", &at)))
		json_array_append_new(list, json_string(text));
	return list;
}

/* Takes the reference; -1: what was given makes no sense. */
static int set_list(json_t *secret, const char *key, json_t *list)
{
	if (!list)
		return -1;
	if (json_array_size(list))
		json_object_set(secret, key, list);
	json_decref(list);
	return 0;
}

static int add_where(json_t *secret, const struct options *options,
		     const json_t *service, struct error *err)
{
	if (set_list(secret, "hosts", hosts_of(options, err)) < 0 ||
	    set_list(secret, "headers", headers_of(options, err)) < 0 ||
	    set_list(secret, "repos", repos_of(options, err)) < 0 ||
	    set_list(secret, "variables", variables_of(options)) < 0)
		return -1;
	if (options_flag(options, "plain-http"))
		json_object_set_new(secret, "plain_http", json_true());
	if (service || (json_object_get(secret, "hosts") &&
			json_object_get(secret, "headers")))
		return 0;
	return options_usage(err,
			     "%s is no service that is known: --host and "
			     "--header say where it goes",
			     options->words[0]);
}

static int add_source(json_t *secret, const struct options *options,
		      struct error *err)
{
	const char *command = options_value(options, "command");
	AUTO(secret) struct secret *value = NULL;
	size_t sources = (command != NULL) + options_flag(options, "env") +
			 (options->word_count > 1);

	if (sources > 1)
		return options_usage(err, "one of --command, --env and -");
	if (command) {
		json_object_set_new(secret, "command", json_string(command));
		return 0;
	}
	value = secret_input(options, options->words[0], err);
	if (!value)
		return -1;
	json_object_set_new(
		secret, "value",
		json_stringn(secret_text(value), secret_len(value)));
	return 0;
}

static void say_where(const json_t *secret, const json_t *service)
{
	if (json_object_get(service, "repo_paths") &&
	    !json_object_get(secret, "repos"))
		fprintf(stderr,
			"bawn: without --repo OWNER/NAME it opens the "
			"repositories that a workspace has as remotes\n");
}

static int set(const struct options *options, struct error *err)
{
	AUTO_PLACE struct place place = PLACE_INIT;
	const char *name = options->words[0];
	AUTO(json) json_t *services = services_load(err);
	AUTO(json) json_t *secret = NULL;
	const json_t *service;

	if (!services)
		return -1;
	secret_store_wipe_json();
	service = services_find(services, name);
	if (options->word_count > 1 && strcmp(options->words[1], "-") != 0)
		return options_usage(err,
				     "a secret is no argument: leave it out "
				     "and type it, or pipe it in with `-`");
	secret = json_pack("{s:s, s:I}", "name", name, "set",
			   (json_int_t)time(NULL));
	if (!secret || service_check_name(name, err) < 0)
		return options_usage(err, "%s: no name of a secret", name);
	/* before anybody types something in vain */
	if (add_where(secret, options, service, err) < 0 ||
	    add_source(secret, options, err) < 0 ||
	    place_open(options, &place, err) < 0 ||
	    secret_store_put(place.store, json_incref(secret), err) < 0)
		return -1;
	say_where(secret, service);
	return place_save(&place, err);
}

static int rm(const struct options *options, struct error *err)
{
	AUTO_PLACE struct place place = PLACE_INIT;

	if (place_open(options, &place, err) < 0)
		return -1;
	if (!(secret_store_remove(place.store, options->words[0]) |
	      logins_remove(place.store, options->words[0])))
		return error_set(
			err, 0, "there is no secret %s%s", options->words[0],
			place.sandbox.folder >= 0 ? " of that sandbox"
						  : " of all sandboxes");
	return place_save(&place, err);
}

static const struct option_row set_rows[] = {
	{ "command", '\0', OPTION_VALUE, "COMMAND",
	  "run this on the host for it, and keep its answer for an hour", NULL,
	  OPTION_HERE },
	{ "env", '\0', OPTION_VALUE, "VARIABLE",
	  "take it from your environment, now", NULL, OPTION_HERE },
	{ "host", '\0', OPTION_LIST, "HOST[:PORT]",
	  "where it may go, instead of the service's hosts", NULL,
	  OPTION_HERE },
	{ "header", '\0', OPTION_VALUE, "NAME[: FORMAT]",
	  "the header that carries it; FORMAT has %s for the secret", NULL,
	  OPTION_HERE },
	{ "env-var", '\0', OPTION_LIST, "VARIABLE",
	  "the guest's variable that gets the placeholder", NULL, OPTION_HERE },
	{ "repo", '\0', OPTION_LIST, "OWNER/NAME",
	  "a repository that it is for (github)", NULL, OPTION_HERE },
	{ "plain-http", '\0', OPTION_FLAG, NULL,
	  "also without TLS: everybody on the way can read it", NULL,
	  OPTION_HERE },
	{ .name = NULL },
};

static const struct option_row place_rows[] = {
	{ "sandbox", '\0', OPTION_VALUE, "NAME",
	  "for this sandbox alone, not for all", COMPLETE_SANDBOXES,
	  OPTION_HERE },
	{ .name = NULL },
};

const struct command command_secret_set = {
	.name = "secret set",
	.arguments = "NAME [-]",
	.help = "keep a key on the host, and use it for sandboxes",
	.details =
		"NAME is a service (anthropic, openai, google, github, cursor, "
		"copilot, mistral, groq,\nxai, openrouter) or, with --host and "
		"--header, a name of your own. The secret is asked\nfor, or "
		"read from stdin with `-`. A sandbox sees a placeholder; the "
		"secret is put in\non the way to the hosts that it is for.",
	.options = set_rows,
	.options_too = place_rows,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 2,
	.failure_code = 1,
	.run = set,
};

const struct command command_secret_rm = {
	.name = "secret rm",
	.arguments = "NAME",
	.help = "forget a secret; sandboxes that run lose it at once",
	.options = place_rows,
	.flags = COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 1,
	.run = rm,
};
