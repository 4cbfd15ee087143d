/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.c - the secrets of a sandbox, as commands see them
 */
#include "cli/keys.h"

#include <errno.h>

#include "base/error.h"
#include "base/own.h"
#include "cli/git_repos.h"
#include "cli/net_config.h"
#include "cli/store.h"
#include "state/logins.h"
#include "state/paths.h"
#include "state/secret_bindings.h"
#include "state/secret_store.h"
#include "state/services.h"

AUTO_DEFINE(json, json_t *, json_decref)

/* The workspace's repositories as they are at a start: 1 when they changed. */
static int update_repos(const struct sandbox *sandbox, json_t *own)
{
	AUTO(json) json_t *repos = git_repos_of(&sandbox->record.shares);
	json_t *old = json_object_get(own, "repos");

	if (json_equal(repos, old) || (!old && !json_array_size(repos)))
		return 0;
	json_object_set(own, "repos", repos);
	return 1;
}

enum moment {
	AT_START,
	LATER,
};

static json_t *make_bindings(const struct sandbox *sandbox,
			     const json_t *session, enum moment moment,
			     struct error *err)
{
	int changed;
	const char *scope = sandbox->record.id;
	AUTO(json) json_t *services = services_load(err);
	AUTO(json) json_t *all = NULL;
	AUTO(json) json_t *own = NULL;
	AUTO(json) json_t *bindings = NULL;
	AUTO_CLOSE int folder = services ? secret_store_open(err) : -1;
	AUTO_CLOSE int lock = folder < 0 ? -1 : secret_store_lock(folder, err);

	if (lock < 0)
		return NULL;
	secret_store_wipe_json();
	all = secret_store_load(folder, SECRET_STORE_ALL, err);
	own = all ? secret_store_load(folder, scope, err) : NULL;
	if (!own)
		return NULL;
	changed = moment == AT_START && update_repos(sandbox, own);
	bindings = secret_bindings_make(services, all, own, session);
	changed |= secret_bindings_fill(bindings, services, own);
	if (changed && secret_store_save(folder, scope, own, err) < 0)
		return NULL;
	return TAKE_PTR(bindings);
}

json_t *keys_bindings(const struct sandbox *sandbox, const json_t *session,
		      struct error *err)
{
	return make_bindings(sandbox, session, LATER, err);
}

void keys_add_variables(const json_t *bindings, json_t *variables)
{
	json_t *binding, *variable;
	size_t i, k;

	json_array_foreach(bindings, i, binding)
	{
		json_array_foreach(json_object_get(binding, "variables"), k,
				   variable)
			json_object_set(
				variables, json_string_value(variable),
				json_object_get(binding, "placeholder"));
	}
}

/* Those that its agent may make, or has, or that somebody waits for. */
static json_t *find_logins(const struct sandbox *sandbox)
{
	AUTO(json) json_t *services = services_load(NULL);
	AUTO_CLOSE int folder = secret_store_open(NULL);
	AUTO(json) json_t *own = NULL;
	AUTO(json) json_t *all = NULL;

	if (folder >= 0) {
		own = secret_store_load(folder, sandbox->record.id, NULL);
		all = secret_store_load(folder, SECRET_STORE_ALL, NULL);
	}
	return logins_for(services, all, own, sandbox->record.agent);
}

static bool has_logins(const struct sandbox *sandbox)
{
	AUTO(json) json_t *logins = find_logins(sandbox);

	return json_array_size(logins) > 0;
}

json_t *keys_over(const struct sandbox *sandbox)
{
	json_t *names = json_array(), *login;
	AUTO(json) json_t *logins = NULL;
	size_t i;

	secret_store_wipe_json();
	logins = find_logins(sandbox);
	json_array_foreach(logins, i, login)
	{
		if (json_is_true(json_object_get(login, "refused")))
			json_array_append(names,
					  json_object_get(login, "name"));
	}
	return names;
}

json_t *keys_settings(const struct sandbox *sandbox, struct error *err)
{
	AUTO(json)
	json_t *bindings = make_bindings(sandbox, NULL, AT_START, err);
	AUTO_FREE char *store = NULL;
	AUTO_FREE char *file = NULL;
	AUTO_FREE char *folder = NULL;
	json_t *settings;

	if (!bindings)
		return NULL;
	store = paths_of(PATHS_STATE, SECRET_STORE_FOLDER, err);
	file = store ? paths_data_file(SERVICES_FILE, err) : NULL;
	folder = file ? paths_of(PATHS_CONFIG, SERVICES_FOLDER, err) : NULL;
	if (!folder)
		return NULL;
	settings = json_pack(
		"{s:s, s:s, s:s, s:s, s:b, s:o, s:s}", "store", store, "scope",
		sandbox->record.id, "services", file, "services_d", folder,
		"secrets", json_array_size(bindings) > 0 || has_logins(sandbox),
		"env", net_config_hook_env(), "agent", sandbox->record.agent);
	if (!settings)
		error_set(err, EILSEQ, "a path is not UTF-8");
	return settings;
}

json_t *keys_names(const struct sandbox *sandbox)
{
	AUTO(json) json_t *bindings = keys_bindings(sandbox, NULL, NULL);
	json_t *names = json_array(), *binding;
	size_t i;

	json_array_foreach(bindings, i, binding)
		json_array_append(names, json_object_get(binding, "name"));
	return names;
}
