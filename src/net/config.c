/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config.c - what the launcher tells bawn-net, at the start and later
 */
#include "net/config.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/policy.h"

#define SOURCES_MAX 64
#define SERVERS_BYTES_MAX 4096
#define ADDRESSES_MAX 4096

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(config, struct config *, config_free)

static int refuse(struct error *err, const char *what)
{
	return error_set(err, 0, "settings: %s", what);
}

static int read_source(json_t *json, struct policy_source *out,
		       struct error *err)
{
	const char *scope, *name;
	size_t len;

	if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:s, s:s%}", "scope",
			   &scope, "name", &name, "text", &out->text,
			   &len) < 0 ||
	    policy_scope_parse(scope, &out->scope) < 0)
		return refuse(err, "a source of rules is malformed");
	out->name = name;
	out->len = len;
	return 0;
}

static int read_policy(json_t *list, struct config *config, struct error *err)
{
	struct policy_source sources[SOURCES_MAX];
	size_t count = json_array_size(list);

	if (!json_is_array(list) || count > SOURCES_MAX)
		return refuse(err, "policy is no list");
	for (size_t i = 0; i < count; i++) {
		if (read_source(json_array_get(list, i), &sources[i], err) < 0)
			return -1;
	}
	config->policy = policy_compile(sources, count, err);
	return config->policy ? 0 : -1;
}

/* An address, or one with a port, as c-ares wants it; others are no server. */
static void add_server(struct buffer *out, const char *text)
{
	struct authority server = { 0 };
	char formatted[AUTHORITY_TEXT_SIZE];

	if (address_parse(text, strlen(text), &server.address) == 0)
		address_format(&server.address, server.host);
	else if (authority_parse(text, strlen(text), &server) < 0 ||
		 !server.address.family)
		return;
	authority_format(&server, formatted);
	/* What does not fit into the list is not asked. */
	(void)buffer_printf(out, "%s%s", out->len ? "," : "", formatted);
}

static int read_resolver(json_t *json, struct config *config, struct error *err)
{
	AUTO_BUFFER struct buffer list = BUFFER_INIT(SERVERS_BYTES_MAX);
	json_t *servers, *hosts, *item;
	const char *name, *address;
	size_t i;

	if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:o, s:o}", "servers",
			   &servers, "hosts", &hosts) < 0)
		return refuse(err, "resolver is malformed");
	json_array_foreach(servers, i, item)
	{
		if (!json_is_string(item))
			return refuse(err, "a name server is no text");
		add_server(&list, json_string_value(item));
	}
	json_array_foreach(hosts, i, item)
	{
		if (json_unpack_ex(item, NULL, JSON_STRICT, "[ss]", &name,
				   &address) < 0)
			return refuse(err, "an entry of hosts is malformed");
		hosts_table_add(&config->hosts, name, address);
	}
	hosts_table_sort(&config->hosts);
	config->servers = list.len ? xstrndup((const char *)list.data, list.len)
				   : xstrdup("");
	return 0;
}

static int read_url(json_t *json, struct proxy_url *out, bool *has)
{
	*has = json && !json_is_null(json);
	if (*has && !json_is_string(json))
		return -1;
	if (*has)
		proxy_url_parse(json_string_value(json),
				json_string_length(json), out);
	return 0;
}

static int read_proxy(json_t *json, struct config *config, struct error *err)
{
	json_t *http = NULL, *https = NULL, *without = NULL;

	if (json_unpack_ex(json, NULL, JSON_STRICT, "{s?o, s?o, s?o}", "http",
			   &http, "https", &https, "no_proxy", &without) < 0 ||
	    read_url(http, &config->http_proxy, &config->has_http_proxy) < 0 ||
	    read_url(https, &config->https_proxy, &config->has_https_proxy) < 0)
		return refuse(err, "proxy is malformed");
	if (!without || json_is_null(without))
		return 0;
	if (!json_is_string(without))
		return refuse(err, "no_proxy is no text");
	config->no_proxy = xstrdup(json_string_value(without));
	return 0;
}

/* Their own addresses are guarded, with zones and without. */
static int read_addresses(json_t *list, struct config *config,
			  struct error *err)
{
	AUTO_FREE struct address *addresses = NULL;
	size_t count = json_array_size(list), known = 0;

	if (!json_is_array(list) || count > ADDRESSES_MAX)
		return refuse(err, "addresses is no list");
	addresses = xcalloc(count + 1, sizeof(*addresses));
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text || address_parse(text, strcspn(text, "%"),
					   &addresses[known]) < 0)
			return refuse(err, "an address is malformed");
		known++;
	}
	policy_guard(config->policy, addresses, known);
	return 0;
}

static int read_published(json_t *list, struct config *config,
			  struct error *err)
{
	size_t count = json_array_size(list);

	if (!json_is_array(list) || count > CONFIG_PUBLISHED_MAX)
		return refuse(err, "published is no list");
	for (size_t i = 0; i < count; i++) {
		int id, port;

		if (json_unpack_ex(json_array_get(list, i), NULL, JSON_STRICT,
				   "{s:i, s:i}", "id", &id, "port",
				   &port) < 0 ||
		    id < 0 || port < 1 || port > UINT16_MAX)
			return refuse(err, "a published port is malformed");
		config->published[i].id = (uint32_t)id;
		config->published[i].port = (uint16_t)port;
	}
	config->published_count = count;
	return 0;
}

static int read_sockets(json_t *list, struct config *config, struct error *err)
{
	size_t count = json_array_size(list), total = 0;

	if (!json_is_array(list) || count > NET_SOCKETS_MAX)
		return refuse(err, "sockets is no list");
	for (size_t i = 0; i < count; i++) {
		const char *path = json_string_value(json_array_get(list, i));

		if (!path || !*path)
			return refuse(err, "a socket has no path");
		total += strlen(path) + 1;
		config->sockets[config->socket_count++] = xstrdup(path);
	}
	/* They are told in one message. */
	if (total > NET_MESSAGE_MAX / 2)
		return refuse(err, "the paths of the sockets are too long");
	return 0;
}

static int read_marker(const char *text, uint8_t out[NET_MARKER_BYTES],
		       struct error *err)
{
	if (text_unhex(text, out, NET_MARKER_BYTES) < 0)
		return refuse(err, "a marker is malformed");
	return 0;
}

static int read_ca(json_t *json, struct config *config, struct error *err)
{
	const char *certificate, *key;

	if (!json || json_is_null(json))
		return 0;
	if (json_unpack_ex(json, NULL, JSON_STRICT, "{s:s, s:s}", "certificate",
			   &certificate, "key", &key) < 0)
		return refuse(err, "the authority is malformed");
	config->ca_certificate = xstrdup(certificate);
	config->ca_key = xstrdup(key);
	return 0;
}

static int read_start(json_t *json, struct config *config, struct error *err)
{
	json_t *marker = json_object_get(json, "marker");
	const char *next = json_string_value(
			   json_object_get(json, "next_marker")),
		   *sandbox =
			   json_string_value(json_object_get(json, "sandbox"));
	json_int_t uid = json_integer_value(json_object_get(json, "uid"));

	if (!next || !sandbox || uid < 0 || uid >= UINT32_MAX)
		return refuse(err, "the start is malformed");
	config->sandbox = xstrdup(sandbox);
	config->uid = (uid_t)uid;
	if (read_marker(next, config->next_marker, err) < 0 ||
	    read_ca(json_object_get(json, "ca"), config, err) < 0)
		return -1;
	config->has_marker = marker && !json_is_null(marker);
	if (!config->has_marker)
		return 0;
	if (!json_is_string(marker))
		return refuse(err, "a marker is malformed");
	return read_marker(json_string_value(marker), config->marker, err);
}

/* In this order: what stands later may need what stands before. */
static const struct key {
	const char *name;
	int (*read)(json_t *json, struct config *config, struct error *err);
} keys[] = {
	{ "policy", read_policy },       { "resolver", read_resolver },
	{ "proxy", read_proxy },         { "addresses", read_addresses },
	{ "published", read_published }, { "sockets", read_sockets },
};

static const char *const plain_keys[] = { "preset", "ask_ms" };
static const char *const start_keys[] = { "sandbox", "marker", "next_marker",
					  "uid", "ca" };

static bool has_word(const char *const *list, size_t count, const char *word)
{
	for (size_t i = 0; i < count; i++) {
		if (strcmp(list[i], word) == 0)
			return true;
	}
	return false;
}

static bool is_known(const char *word, enum config_kind kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		if (strcmp(keys[i].name, word) == 0)
			return true;
	}
	return has_word(plain_keys, ARRAY_SIZE(plain_keys), word) ||
	       (kind == CONFIG_START &&
		has_word(start_keys, ARRAY_SIZE(start_keys), word));
}

static int read_all(json_t *json, enum config_kind kind, struct config *config,
		    struct error *err)
{
	json_t *ask = json_object_get(json, "ask_ms"), *value;
	const char *key;

	json_object_foreach(json, key, value)
	{
		if (!is_known(key, kind))
			return refuse(err, "an unknown key");
	}
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		value = json_object_get(json, keys[i].name);
		if (!value)
			return error_set(err, 0, "settings: no %s",
					 keys[i].name);
		if (keys[i].read(value, config, err) < 0)
			return -1;
	}
	if (ask && (!json_is_integer(ask) || json_integer_value(ask) < 0 ||
		    json_integer_value(ask) > INT32_MAX))
		return refuse(err, "ask_ms is malformed");
	config->ask_ms = (uint32_t)json_integer_value(ask);
	return kind == CONFIG_START ? read_start(json, config, err) : 0;
}

struct config *config_parse(const void *bytes, size_t len,
			    enum config_kind kind, struct error *err)
{
	AUTO(config) struct config *config = xcalloc(1, sizeof(*config));
	AUTO(json)
	json_t *json =
		len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
		    : NULL;

	if (!json || !json_is_object(json)) {
		refuse(err, "not a JSON object");
		return NULL;
	}
	if (read_all(json, kind, config, err) < 0)
		return NULL;
	return TAKE_PTR(config);
}

struct config *config_read(int fd, enum config_kind kind, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(CONFIG_BYTES_MAX);
	struct config *config;

	if (lseek(fd, 0, SEEK_SET) < 0) {
		error_set(err, errno, "settings");
		return NULL;
	}
	if (fileio_read_fd(fd, &text, err) < 0) {
		error_prefix(err, "settings");
		return NULL;
	}
	config = config_parse(text.data, text.len, kind, err);
	/* The start message holds a key. */
	if (text.len)
		explicit_bzero(text.data, text.len);
	return config;
}

void config_forget_key(struct config *config)
{
	if (config->ca_key)
		explicit_bzero(config->ca_key, strlen(config->ca_key));
	free(TAKE_PTR(config->ca_key));
}

void config_free(struct config *config)
{
	if (!config)
		return;
	config_forget_key(config);
	free(config->ca_certificate);
	if (config->policy)
		policy_free(config->policy);
	hosts_table_release(&config->hosts);
	for (size_t i = 0; i < config->socket_count; i++)
		free(config->sockets[i]);
	free(config->servers);
	free(config->no_proxy);
	free(config->sandbox);
	free(config);
}
