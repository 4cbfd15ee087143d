/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registry_order.c - orders for bawn-registry: where to go, and as whom
 */
#include "provision/registry_order.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "oci/docker_config.h"
#include "oci/manifest.h"
#include "oci/reference.h"
#include "oci/registries.h"
#include "provision/image_process.h"
#include "provision/logins.h"
#include "state/paths.h"

#define HURRY_CONNECT_MS 5000
#define HURRY_ATTEMPTS 1

AUTO_DEFINE(json, json_t *, json_decref)

static const char *const kinds[] = {
	[LOGIN_NONE] = "none",
	[LOGIN_PASSWORD] = "password",
	[LOGIN_IDENTITY] = "identity",
	[LOGIN_TOKEN] = "token",
};

/* ca: of the file, or what people set for every program. */
static const char *trusted(const struct registries_entry *entry)
{
	const char *file = getenv("SSL_CERT_FILE");

	if (entry->ca[0])
		return entry->ca;
	return file && file[0] == '/' ? file : "";
}

static int add_place(json_t *places, const char *host, const char *repository,
		     bool http, const char *ca, struct error *err)
{
	struct login login;
	json_t *place;

	if (logins_find(host, &login, err) < 0)
		return error_prefix(err, "%s", host);
	place = json_pack("{s:s, s:s, s:b, s:s, s:{s:s, s:s, s:s}}", "host",
			  host, "repository", repository, "http", http, "ca",
			  ca, "login", "kind", kinds[login.kind], "user",
			  login.user, "secret", login.secret);
	explicit_bzero(&login, sizeof(login));
	if (!place)
		return error_set(err, 0, "%s: the login is no UTF-8", host);
	json_array_append_new(places, place);
	return 0;
}

static int find_entry(const char *host, struct registries_entry *entry,
		      struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(REGISTRIES_FILE_MAX);
	AUTO_FREE char *path = paths_of(PATHS_CONFIG, "registries", err);
	struct error own = { 0 };

	memset(entry, 0, sizeof(*entry));
	if (!path)
		return -1;
	if (fileio_read(AT_FDCWD, path, &text, &own) < 0) {
		if (own.code == ENOENT)
			return 0;
		*err = own;
		return -1;
	}
	if (!buffer_str(&text))
		return error_set(err, EFBIG, "%s", path);
	return registries_find(buffer_str(&text), host, entry, err) < 0
		       ? error_prefix(err, "%s", path)
		       : 0;
}

static int add_places(json_t *places, const struct registry_order *order,
		      struct error *err)
{
	const struct reference *reference = order->reference;
	AUTO_FREE struct registries_entry *entry = xcalloc(1, sizeof(*entry));

	if (find_entry(reference->host, entry, err) < 0)
		return -1;
	/* what is pushed goes to the registry itself */
	for (size_t i = 0; !order->push && i < entry->mirror_count; i++) {
		const struct registries_mirror *mirror = &entry->mirrors[i];
		AUTO_FREE char *repository = xasprintf(
			"%s%s%s", mirror->prefix, mirror->prefix[0] ? "/" : "",
			reference->repository);

		if (add_place(places, mirror->host, repository, mirror->http,
			      trusted(entry), err) < 0)
			return -1;
	}
	return add_place(places, reference->host, reference->repository, false,
			 trusted(entry), err);
}

static json_t *describe(const struct registry_order *order)
{
	const struct reference *reference = order->reference;
	struct image_platform platform;
	json_t *json;

	manifest_host_platform(&platform);
	json = json_pack("{s:s, s:s, s:{s:s, s:s, s:s}}", "tag", reference->tag,
			 "digest", reference->digest, "platform", "os",
			 platform.os, "architecture", platform.architecture,
			 "variant", platform.variant);
	if (json && order->hurry) {
		json_object_set_new(json, "connect_ms",
				    json_integer(HURRY_CONNECT_MS));
		json_object_set_new(json, "attempts",
				    json_integer(HURRY_ATTEMPTS));
	}
	if (json && order->push)
		json_object_set_new(json, "image", image_to_json(order->push));
	return json;
}

int registry_order_open(const struct registry_order *order, struct error *err)
{
	AUTO(json) json_t *json = describe(order);
	json_t *places = json_array();
	char *text;
	int fd;

	json_object_set_new(json, "places", places);
	if (!json || add_places(places, order, err) < 0)
		return json ? -1
			    : error_set(err, 0,
					"the order cannot be "
					"written");
	text = json_dumps(json, JSON_COMPACT);
	fd = image_process_text(text ? text : "", err);
	if (text)
		explicit_bzero(text, strlen(text));
	free(text);
	return fd;
}
