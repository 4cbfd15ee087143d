/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_config.c - the network's settings of a sandbox
 */
#include "cli/net_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/keys.h"
#include "cli/policy_set.h"
#include "cli/mcp_host.h"
#include "cli/socket_probe.h"
#include "cli/ssh_keys.h"
#include "cli/store.h"
#include "state/paths.h"

AUTO_DEFINE(json, json_t *, json_decref)

/* All that a hook gets to know of the environment: what notifiers need. */
static const char *const hook_variables[] = {
	"PATH",
	"HOME",
	"USER",
	"LOGNAME",
	"LANG",
	"LC_ALL",
	"TZ",
	"DISPLAY",
	"WAYLAND_DISPLAY",
	"XAUTHORITY",
	"XDG_RUNTIME_DIR",
	"DBUS_SESSION_BUS_ADDRESS",
	"BAWN_HOME",
	"XDG_STATE_HOME",
	"XDG_CONFIG_HOME",
};

static json_t *first_of(char *(*get)(const char *name),
			const char *const names[])
{
	for (; *names; names++) {
		const char *value = get(*names);
		AUTO_FREE char *url = NULL;

		if (!value || !*value)
			continue;
		/* As everywhere: a proxy without a scheme speaks http. */
		url = xasprintf("%s%s", strstr(value, "://") ? "" : "http://",
				value);
		return json_string(url);
	}
	return json_null();
}

json_t *net_config_proxy(char *(*get)(const char *name))
{
	static const char *const http[] = { "http_proxy", "HTTP_PROXY",
					    "all_proxy", "ALL_PROXY", NULL };
	static const char *const https[] = { "https_proxy", "HTTPS_PROXY",
					     "all_proxy", "ALL_PROXY", NULL };
	const char *without = get("no_proxy");

	if (!without || !*without)
		without = get("NO_PROXY");
	return json_pack("{s:o?, s:o?, s:s?}", "http", first_of(get, http),
			 "https", first_of(get, https), "no_proxy",
			 without && *without ? without : NULL);
}

/* Somebody else could make us run what they like. */
static int check_hook(const char *path, const struct stat *st,
		      struct error *err)
{
	if (!S_ISREG(st->st_mode) || access(path, X_OK) < 0)
		return error_set(err, 0, "%s: not a program (chmod +x)", path);
	if ((st->st_uid != geteuid() && st->st_uid != 0) ||
	    (st->st_mode & (S_IWGRP | S_IWOTH)))
		return error_set(err, 0, "%s: others can write it", path);
	return 0;
}

json_t *net_config_hook_env(void)
{
	json_t *env = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(hook_variables); i++) {
		const char *value = getenv(hook_variables[i]);
		AUTO_FREE char *text = NULL;

		if (!value)
			continue;
		text = xasprintf("%s=%s", hook_variables[i], value);
		/* One that is not UTF-8 is left out. */
		json_array_append_new(env, json_string(text));
	}
	return env;
}

static json_t *hook_json(struct error *err)
{
	AUTO_FREE char *path =
		paths_of(PATHS_CONFIG, NET_CONFIG_HOOK_FILE, err);
	struct stat st;

	if (!path)
		return NULL;
	if (stat(path, &st) < 0)
		return json_null();
	if (check_hook(path, &st, err) < 0)
		return NULL;
	return json_pack("{s:s, s:o}", "path", path, "env",
			 net_config_hook_env());
}

/* With the paths of those that this sandbox's own commands serve. */
static json_t *sockets_json(const struct sandbox_record *record)
{
	json_t *list = socket_list_encode(&record->sockets);
	json_t *one;
	size_t i;

	json_array_foreach(list, i, one)
	{
		AUTO_FREE char *path = mcp_host_path(
			record->name, record->sockets.items[i].host, NULL);

		if (path)
			json_object_set_new(one, "host", json_string(path));
	}
	return list;
}

json_t *net_config_make(const struct sandbox *sandbox, struct error *err)
{
	const struct sandbox_record *record = &sandbox->record;
	AUTO_POLICY_SET struct policy_set set = { 0 };
	json_t *policy, *net, *sockets;

	if (policy_set_load(sandbox, &set, err) < 0)
		return NULL;
	policy = policy_set_json(&set, err);
	if (!policy)
		return NULL;
	sockets = sockets_json(record);
	/* The last one, so that the numbers of the others stay. */
	if (sockets && record->ssh_keys)
		json_array_append_new(sockets,
				      json_pack("{s:s, s:s}", "host",
						SOCKET_SSH_AGENT, "guest",
						SOCKET_SSH_AGENT));
	net = json_pack("{s:o, s:s, s:i, s:o, s:o}", "policy", policy, "preset",
			set.preset, "ask_ms",
			record->ask ? NET_CONFIG_ASK_MS : 0, "published",
			port_list_encode(&record->ports), "sockets", sockets);
	if (!net)
		error_set(err, EILSEQ, "network");
	return net;
}

/* A folder that cannot be made is no reason not to start. */
static json_t *layers_json(void)
{
	AUTO_CLOSE int fd = paths_open(PATHS_CACHE, "layers", NULL);
	AUTO_FREE char *path =
		fd < 0 ? NULL : paths_of(PATHS_CACHE, "layers", NULL);

	return path ? json_string(path) : json_null();
}

json_t *net_config_start(const struct sandbox *sandbox, struct error *err)
{
	const struct socket_list *sockets = &sandbox->record.sockets;
	AUTO(json) json_t *net = net_config_make(sandbox, err);
	json_t *hook, *keys, *agent;

	if (!net)
		return NULL;
	for (size_t i = 0; i < sockets->count; i++) {
		if (!text_starts(sockets->items[i].host, MCP_HOST_PREFIX) &&
		    socket_probe(sockets->items[i].host, err) < 0)
			return NULL;
	}
	hook = hook_json(err);
	if (!hook)
		return NULL;
	json_object_set_new(net, "hook", hook);
	keys = keys_settings(sandbox, err);
	if (!keys)
		return NULL;
	json_object_set_new(net, "keys", keys);
	agent = ssh_keys_settings(&sandbox->record, err);
	if (!agent)
		return NULL;
	json_object_set_new(net, "ssh_agent", agent);
	json_object_set_new(net, "layers", layers_json());
	if (json_object_set_new(net, "proxy", net_config_proxy(getenv)) < 0) {
		error_set(err, EILSEQ, "a proxy variable");
		return NULL;
	}
	return TAKE_PTR(net);
}
