/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys_session.c - keys of the caller's environment, and telling a sandbox
 */
#include "cli/keys.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/launcher.h"
#include "cli/options.h"
#include "cli/progress_view.h"
#include "cli/store.h"
#include "state/secret_bindings.h"
#include "state/secret_store.h"
#include "state/services.h"

AUTO_DEFINE(json, json_t *, json_decref)

static const char *text_of(const json_t *object, const char *key)
{
	return json_string_value(json_object_get(object, key));
}

static bool ends_like_a_key(const char *name)
{
	static const char *const ends[] = { "_API_KEY", "_TOKEN", "_SECRET",
					    "_PASSWORD", "_SECRET_KEY" };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		if (text_ends(name, ends[i]))
			return true;
	}
	return false;
}

static void warn_given(const char *variable, const json_t *service)
{
	progress_view_clear();
	if (service)
		fprintf(stderr,
			"bawn: %s is given to the sandbox as it is (`bawn "
			"secret set %s` keeps it out)\n",
			variable, text_of(service, "name"));
	else
		fprintf(stderr,
			"bawn: %s is given to the sandbox as it is (`bawn help "
			"secret set` tells how to keep it out)\n",
			variable);
}

static int add_session(json_t *session, const json_t *service,
		       const char *variable, struct error *err)
{
	const char *value = getenv(variable);
	size_t len = value ? strlen(value) : 0;

	if (!len || secret_bindings_find(session, text_of(service, "name")))
		return 0;
	if (secret_store_check_value(value, &len, err) < 0)
		return error_prefix(err, "%s", variable);
	json_array_append_new(session, json_pack("{s:s, s:s%}", "name",
						 text_of(service, "name"),
						 "value", value, len));
	return 0;
}

/* -e in the order of the command line. */
static int take_options(const struct options *options, const json_t *services,
			json_t *session, struct error *err)
{
	const char *text;
	size_t at = 0;

	while ((text = options_next(options, "env", &at))) {
		const char *equals = strchr(text, '=');
		AUTO_FREE char *name = xstrndup(text, strcspn(text, "="));
		const json_t *service = services_of_variable(services, name);

		if (equals && equals[1] && (service || ends_like_a_key(name)))
			warn_given(name, service);
		else if (!equals && service &&
			 add_session(session, service, name, err) < 0)
			return -1;
	}
	return 0;
}

static bool given_as_it_is(const json_t *variables, const json_t *service)
{
	json_t *variable;
	size_t i;

	json_array_foreach(json_object_get(service, "variables"), i, variable)
	{
		if (json_object_get(variables, json_string_value(variable)))
			return true;
	}
	return false;
}

/* Of services whose key the agent looks for, and of which none is stored. */
static int take_environment(const struct sandbox *sandbox,
			    const json_t *services, const json_t *given,
			    json_t *session, struct error *err)
{
	AUTO(json) json_t *stored = keys_bindings(sandbox, NULL, err);
	json_t *service, *variable;
	size_t i, k;

	if (!stored)
		return -1;
	json_array_foreach(services, i, service)
	{
		if (!services_has_agent(service, sandbox->record.agent) ||
		    secret_bindings_find(stored, text_of(service, "name")) ||
		    given_as_it_is(given, service))
			continue;
		json_array_foreach(json_object_get(service, "variables"), k,
				   variable)
		{
			if (add_session(session, service,
					json_string_value(variable), err) < 0)
				return -1;
		}
	}
	return 0;
}

json_t *keys_session(const struct sandbox *sandbox,
		     const struct options *options, const json_t *given,
		     struct error *err)
{
	AUTO(json) json_t *services = services_load(err);
	AUTO(json) json_t *session = NULL;

	if (!services)
		return NULL;
	secret_store_wipe_json();
	session = json_array();
	if (take_options(options, services, session, err) < 0 ||
	    take_environment(sandbox, services, given, session, err) < 0)
		return NULL;
	return TAKE_PTR(session);
}

/* What the launcher had not heard of. */
static void say_bound(const json_t *answer)
{
	AUTO(json) json_t *services = services_load(NULL);
	json_t *name;
	size_t i;

	json_array_foreach(json_object_get(answer, "bound"), i, name)
	{
		const json_t *service =
			services_find(services, json_string_value(name));

		if (!service)
			continue;
		progress_view_clear();
		fprintf(stderr,
			"bawn: the key of %s in your environment is bound to "
			"this sandbox while it runs; inside it is a "
			"placeholder\n",
			json_string_value(name));
	}
}

int keys_tell(const struct sandbox *sandbox, const json_t *session,
	      struct error *err)
{
	AUTO(json) json_t *bindings = keys_bindings(sandbox, session, err);
	AUTO(json) json_t *answer = NULL;
	struct error failure = { 0 };
	json_t *request;

	if (!bindings)
		return -1;
	request = json_pack("{s:s}", "op", "keys");
	if (session)
		json_object_set(request, "session", (json_t *)session);
	answer = launcher_call(sandbox, request, &failure);
	if (answer)
		say_bound(answer);
	else if (session ||
		 (failure.code != ENOENT && failure.code != ECONNREFUSED))
		return error_set(err, 0, "sandbox %s: secrets: %s",
				 sandbox->record.name, failure.text);
	return 0;
}

int keys_tell_all(struct error *err)
{
	AUTO_STORE struct store store = STORE_INIT;
	int result = 0;

	if (store_open(&store, err) < 0)
		return -1;
	for (size_t i = 0; i < store.count; i++) {
		AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
		struct error failure = { 0 };

		if (store_find(&store, store.names[i], &sandbox, NULL) < 0 ||
		    keys_tell(&sandbox, NULL, &failure) == 0)
			continue;
		if (result == 0 && err)
			*err = failure;
		result = -1;
	}
	return result;
}
