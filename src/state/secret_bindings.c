/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_bindings.c - which secrets a sandbox has, and where each may go
 */
#include "state/secret_bindings.h"

#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "base/text.h"
#include "state/logins.h"
#include "state/secret_store.h"
#include "state/services.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "abcdefghijklmnopqrstuvwxyz0123456789";

static const char *name_of(const json_t *json)
{
	return json_string_value(json_object_get(json, "name"));
}

/* The secret's own, or its service's, or an empty list. */
static json_t *list_of(const json_t *secret, const json_t *service,
		       const char *key)
{
	json_t *list = json_object_get(secret, key);

	if (!list)
		list = json_object_get(service, key);
	return list ? json_incref(list) : json_array();
}

static void add_repo(json_t *paths, const char *form, const char *repo)
{
	char path[2 * SERVICE_TEXT_MAX + 8];
	const char *hole = strstr(form, "%s");

	if (hole && text_format(path, sizeof(path), "%.*s%s%s",
				(int)(hole - form), form, repo, hole + 2) == 0)
		json_array_append_new(paths, json_string(path));
}

/* Who names no repository means those of the workspace. */
static json_t *paths_for(const json_t *secret, const json_t *service,
			 const json_t *own)
{
	json_t *repos = json_object_get(secret, "repos");
	json_t *paths = json_array(), *form, *repo;
	size_t i, k;

	if (!repos)
		repos = json_object_get(own, "repos");
	json_array_extend(paths, json_object_get(service, "paths"));
	json_array_foreach(json_object_get(service, "repo_paths"), i, form)
	{
		json_array_foreach(repos, k, repo)
			add_repo(paths, json_string_value(form),
				 json_string_value(repo));
	}
	return paths;
}

static json_t *bind(const json_t *secret, const char *scope,
		    const json_t *services, const json_t *own)
{
	const json_t *service = services_find(services, name_of(secret));
	const json_t *placeholder = json_object_get(
		json_object_get(own, "placeholders"), name_of(secret));
	static const char *const lists[] = { "hosts",          "headers",
					     "query",          "methods",
					     "variables",      SERVICE_EXCEPT,
					     SERVICE_QUESTIONS };
	static const char *const plain[] = { "value", "command", "cache_s" };
	json_t *binding =
		json_pack("{s:s, s:s, s:b}", "name", name_of(secret), "scope",
			  scope, "plain_http",
			  json_is_true(json_object_get(secret, "plain_http")));

	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		json_object_set_new(binding, lists[i],
				    list_of(secret, service, lists[i]));
	for (size_t i = 0; i < ARRAY_SIZE(plain); i++) {
		json_t *value = json_object_get(secret, plain[i]);

		if (value)
			json_object_set(binding, plain[i], value);
	}
	json_object_set_new(binding, "paths", paths_for(secret, service, own));
	json_object_set_new(binding, "placeholder",
			    placeholder ? json_incref((json_t *)placeholder)
					: json_null());
	return binding;
}

static void add(json_t *bindings, const json_t *list, const char *scope,
		const json_t *services, const json_t *own)
{
	json_t *secret, *binding;
	size_t i;

	json_array_foreach(list, i, secret)
	{
		if (secret_bindings_find(bindings, name_of(secret)))
			continue;
		binding = bind(secret, scope, services, own);
		if (json_array_size(json_object_get(binding, "hosts")) &&
		    json_array_size(json_object_get(binding, "headers")))
			json_array_append(bindings, binding);
		json_decref(binding);
	}
}

/* The guest that made it has placeholders of the login's own, and no variable;
 * one for all sandboxes is told to them as any secret is. */
static json_t *bind_login(const char *name, const json_t *token, bool for_all,
			  const json_t *services, const json_t *own)
{
	json_t *secret = json_pack("{s:s, s:O}", "name", name, "value",
				   json_object_get(token, "value"));
	json_t *binding;

	if (!for_all)
		json_object_set_new(secret, "variables", json_array());
	binding = bind(secret, SECRET_BINDINGS_LOGIN, services, own);
	if (!for_all)
		json_object_set(binding, "placeholder",
				json_object_get(token, "placeholder"));
	json_decref(secret);
	return binding;
}

static void add_logins(json_t *bindings, const json_t *store,
		       const json_t *services, const json_t *own)
{
	json_t *login, *binding;
	const char *name;

	json_object_foreach(json_object_get(store, "logins"), name, login)
	{
		const json_t *token = json_object_get(
			json_object_get(login, "tokens"), LOGIN_ACCESS);

		if (!token || secret_bindings_find(bindings, name))
			continue;
		binding = bind_login(name, token, store != own, services, own);
		if (json_array_size(json_object_get(binding, "hosts")))
			json_array_append(bindings, binding);
		json_decref(binding);
	}
}

json_t *secret_bindings_make(const json_t *services, const json_t *all,
			     const json_t *own, const json_t *session)
{
	json_t *bindings = json_array();

	add(bindings, session, "session", services, own);
	add(bindings, json_object_get(own, "secrets"), "sandbox", services,
	    own);
	add_logins(bindings, own, services, own);
	add(bindings, json_object_get(all, "secrets"), "global", services, own);
	add_logins(bindings, all, services, own);
	return bindings;
}

json_t *secret_bindings_find(const json_t *bindings, const char *name)
{
	json_t *item;
	size_t i;

	json_array_foreach(bindings, i, item)
	{
		if (strcmp(name_of(item), name) == 0)
			return item;
	}
	return NULL;
}

static json_t *new_placeholder(const json_t *service)
{
	const json_t *shape = json_object_get(service, "placeholder");
	const char *prefix = SECRET_BINDINGS_PREFIX;
	size_t length = SECRET_BINDINGS_LENGTH, at;
	char text[SERVICE_PLACEHOLDER_MAX + 1] = "";

	if (shape) {
		prefix = json_string_value(json_object_get(shape, "prefix"));
		length = (size_t)json_integer_value(
			json_object_get(shape, "length"));
	}
	text_copy(text, sizeof(text), prefix);
	for (at = strlen(text); at < length; at++)
		text[at] = letters[arc4random_uniform(sizeof(letters) - 1)];
	text[at] = '\0';
	return json_string(text);
}

int secret_bindings_fill(json_t *bindings, const json_t *services, json_t *own)
{
	json_t *placeholders = json_object_get(own, "placeholders"), *item;
	int changed = 0;
	size_t i;

	json_array_foreach(bindings, i, item)
	{
		json_t *text = json_object_get(placeholders, name_of(item));

		/* of a login that was made here */
		if (strcmp(json_string_value(json_object_get(item, "scope")),
			   SECRET_BINDINGS_LOGIN) == 0 &&
		    json_is_string(json_object_get(item, "placeholder")))
			continue;
		if (!text) {
			text = new_placeholder(
				services_find(services, name_of(item)));
			json_object_set_new(placeholders, name_of(item), text);
			changed = 1;
		}
		json_object_set(item, "placeholder", text);
	}
	return changed;
}
