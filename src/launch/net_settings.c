/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_settings.c - the network's settings as the command line gives them
 */
#include "launch/net_settings.h"

#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "launch/ssh_filters.h"

AUTO_DEFINE(json, json_t *, json_decref)

static int check_sources(const json_t *sources, struct error *err)
{
	size_t count = json_array_size(sources);

	if (!json_is_array(sources) || count > NET_SETTINGS_SOURCES_MAX)
		return error_set(err, 0, "net: policy: a list of at most %d",
				 NET_SETTINGS_SOURCES_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *scope, *name, *text;
		json_error_t why;

		if (json_unpack_ex(json_array_get(sources, i), &why,
				   JSON_STRICT, "{s:s, s:s, s:s}", "scope",
				   &scope, "name", &name, "text", &text) < 0)
			return error_set(err, 0, "net: policy: %s", why.text);
	}
	return 0;
}

static int check_proxy(json_t *proxy, struct error *err)
{
	static const char *const keys[] = { "http", "https", "no_proxy" };

	if (json_object_size(proxy) != ARRAY_SIZE(keys))
		return error_set(err, 0, "net: proxy: three keys");
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		const json_t *value = json_object_get(proxy, keys[i]);

		if (!json_is_string(value) && !json_is_null(value))
			return error_set(err, 0, "net: proxy: %s", keys[i]);
	}
	return 0;
}

static int check_env(const json_t *env, const char *what, struct error *err)
{
	json_t *one;
	size_t i;

	json_array_foreach(env, i, one)
	{
		const char *text = json_string_value(one);

		if (!text || !strchr(text, '='))
			return error_set(err, 0, "net: %s: env", what);
	}
	return json_is_array(env) ? 0 : error_set(err, 0, "net: %s: env", what);
}

static int check_hook(json_t *hook, struct error *err)
{
	const char *path;
	json_error_t why;
	json_t *env;

	if (json_is_null(hook))
		return 0;
	if (json_unpack_ex(hook, &why, JSON_STRICT, "{s:s, s:o}", "path", &path,
			   "env", &env) < 0)
		return error_set(err, 0, "net: hook: %s", why.text);
	if (path[0] != '/')
		return error_set(err, 0, "net: hook: path");
	return check_env(env, "hook", err);
}

static int check_keys(json_t *keys, struct error *err)
{
	const char *store, *scope, *services, *services_d, *agent;
	int secrets;
	json_error_t why;
	json_t *env;

	if (json_is_null(keys))
		return 0;
	if (json_unpack_ex(keys, &why, JSON_STRICT,
			   "{s:s, s:s, s:s, s:s, s:b, s:o, s?s}", "store",
			   &store, "scope", &scope, "services", &services,
			   "services_d", &services_d, "secrets", &secrets,
			   "env", &env, "agent", &agent) < 0)
		return error_set(err, 0, "net: keys: %s", why.text);
	if (store[0] != '/' || services[0] != '/' || services_d[0] != '/')
		return error_set(err, 0, "net: keys: a path");
	return check_env(env, "keys", err);
}

static int check_layers(const json_t *layers, struct error *err)
{
	const char *path = json_string_value(layers);

	if (json_is_null(layers) || (path && path[0] == '/'))
		return 0;
	return error_set(err, 0, "net: layers: a path");
}

static int check_lists(const json_t *settings, struct error *err)
{
	struct port_list ports;
	struct socket_list sockets;

	if (port_list_decode(json_object_get(settings, "published"), &ports,
			     err) < 0 ||
	    socket_list_decode(json_object_get(settings, "sockets"), &sockets,
			       err) < 0)
		return error_prefix(err, "net");
	socket_list_release(&sockets);
	return 0;
}

/* Takes the reference of what is meant when old does not have it either. */
static void inherit(json_t *settings, const json_t *old, const char *key,
		    json_t *otherwise)
{
	json_t *value = json_object_get(old, key);

	if (!json_object_get(settings, key))
		json_object_set(settings, key, value ? value : otherwise);
	json_decref(otherwise);
}

json_t *net_settings_check(const json_t *given, const json_t *old,
			   struct error *err)
{
	AUTO(json) json_t *settings = json_copy((json_t *)given);
	json_t *policy, *published, *sockets, *proxy, *hook, *keys, *agent;
	json_t *layers;
	const char *preset;
	json_error_t why;
	json_int_t ask_ms;

	inherit(settings, old, "proxy",
		json_pack("{s:n, s:n, s:n}", "http", "https", "no_proxy"));
	inherit(settings, old, "hook", json_null());
	inherit(settings, old, "keys", json_null());
	inherit(settings, old, "ssh_agent", json_null());
	inherit(settings, old, "layers", json_null());
	if (json_unpack_ex(settings, &why, JSON_STRICT,
			   "{s:o, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			   "policy", &policy, "preset", &preset, "ask_ms",
			   &ask_ms, "proxy", &proxy, "published", &published,
			   "sockets", &sockets, "hook", &hook, "keys", &keys,
			   "ssh_agent", &agent, "layers", &layers) < 0) {
		error_set(err, 0, "net: %s", why.text);
		return NULL;
	}
	if (ask_ms < 0 || ask_ms > NET_SETTINGS_ASK_MAX_MS) {
		error_set(err, 0, "net: ask_ms: 0 to %d",
			  NET_SETTINGS_ASK_MAX_MS);
		return NULL;
	}
	if (check_sources(policy, err) < 0 || check_proxy(proxy, err) < 0 ||
	    check_hook(hook, err) < 0 || check_keys(keys, err) < 0 ||
	    ssh_filters_check(agent, err) < 0 ||
	    check_layers(layers, err) < 0 || check_lists(settings, err) < 0)
		return NULL;
	return TAKE_PTR(settings);
}

uint64_t net_settings_ask_ms(const json_t *settings)
{
	return (uint64_t)json_integer_value(
		json_object_get(settings, "ask_ms"));
}

void net_settings_ports(const json_t *settings, struct port_list *ports)
{
	(void)port_list_decode(json_object_get(settings, "published"), ports,
			       NULL);
}

void net_settings_set_ports(json_t *settings, const struct port_list *ports)
{
	json_object_set_new(settings, "published", port_list_encode(ports));
}

static const char *socket_path(const json_t *settings, size_t index,
			       const char *side)
{
	const json_t *list = json_object_get(settings, "sockets");

	return json_string_value(
		json_object_get(json_array_get(list, index), side));
}

const char *net_settings_socket(const json_t *settings, json_int_t index)
{
	return index < 0 ? NULL : socket_path(settings, (size_t)index, "host");
}

const json_t *net_settings_ssh_agent(const json_t *settings, json_int_t index)
{
	const json_t *agent = json_object_get(settings, "ssh_agent");
	const char *guest =
		index < 0 ? NULL
			  : socket_path(settings, (size_t)index, "guest");

	return json_is_object(agent) && guest &&
			       strcmp(guest, SOCKET_SSH_AGENT) == 0
		       ? agent
		       : NULL;
}

const char *net_settings_layers(const json_t *settings)
{
	return json_string_value(json_object_get(settings, "layers"));
}

json_t *net_settings_guest_sockets(const json_t *settings)
{
	size_t count = json_array_size(json_object_get(settings, "sockets"));
	json_t *paths = json_array();

	for (size_t i = 0; i < count; i++)
		json_array_append_new(
			paths, json_string(socket_path(settings, i, "guest")));
	return paths;
}
