/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npm.c - one package from an npm registry, checked against its SHA-512
 */
#include "image/npm.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"
#include "image/hash.h"
#include "image/registry_url.h"
#include "oci/reference.h"

#define ATTEMPTS 4
#define REDIRECTS_MAX 8
#define STEP_MS 500
#define PROGRESS_STEP (4u << 20)

AUTO_DEFINE(json, json_t *, json_decref)

/* ---- the order ---- */

static int take(char *to, size_t size, const char *text)
{
	return text && text_copy(to, size, text) == 0 ? 0 : -1;
}

/* https, or this machine's own http. */
static bool is_registry(const char *url)
{
	char host[REFERENCE_HOST_MAX];
	const char *at;

	for (const char *p = url; *p; p++)
		if (*p <= ' ' || *p > '~' || strchr("@?#\\", *p))
			return false;
	if (text_starts(url, "https://"))
		return url[strlen("https://")] != '\0';
	if (!text_starts(url, "http://"))
		return false;
	at = url + strlen("http://");
	return text_format(host, sizeof(host), "%.*s", (int)strcspn(at, "/"),
			   at) == 0 &&
	       reference_is_loopback(host);
}

int npm_order_parse(const void *bytes, size_t len, struct npm_order *order,
		    struct error *err)
{
	AUTO(json)
	json_t *root =
		len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
		    : NULL;
	const char *registry, *package, *version, *suffix = "", *ca = "";
	size_t end;

	memset(order, 0, sizeof(*order));
	if (json_unpack_ex(root, NULL, JSON_STRICT, "{s:s, s:s, s:s, s?s, s?s}",
			   "registry", &registry, "package", &package,
			   "version", &version, "suffix", &suffix, "ca",
			   &ca) < 0)
		return error_set(err, 0, "the order makes no sense");
	if (take(order->registry, sizeof(order->registry), registry) < 0 ||
	    !is_registry(registry))
		return error_set(err, 0, "the npm registry's address is wrong");
	for (end = strlen(order->registry);
	     end > 0 && order->registry[end - 1] == '/';)
		order->registry[--end] = '\0';
	if (!npm_name_is_valid(package) || !npm_version_is_valid(version) ||
	    (*suffix && !npm_version_is_valid(suffix)) ||
	    take(order->package, sizeof(order->package), package) < 0 ||
	    take(order->version, sizeof(order->version), version) < 0 ||
	    take(order->suffix, sizeof(order->suffix), suffix) < 0 ||
	    take(order->ca, sizeof(order->ca), ca) < 0)
		return error_set(err, 0, "%s %s is no package", package,
				 version);
	return 0;
}

/* ---- one request ---- */

struct call {
	/* where the answer goes: a document, or a file with its digest */
	struct buffer *document;
	int out;
	struct hash *hash;
	uint64_t bytes, shown;
	npm_progress_fn *progress;
	struct error failure; /* of our own */
	struct http_response response;
	bool done;
};

static int on_bytes(void *ctx, const struct http_response *head,
		    const void *bytes, size_t len)
{
	struct call *call = ctx;

	if (call->document)
		return buffer_append(call->document, bytes, len) < 0
			       ? error_set(&call->failure, EFBIG,
					   "its answer is too long")
			       : 0;
	if (call->bytes + len > NPM_TARBALL_MAX)
		return error_set(&call->failure, EFBIG,
				 "the package is too large");
	if (fileio_pwrite_all(call->out, bytes, len, (off_t)call->bytes,
			      &call->failure) < 0)
		return -1;
	hash_add(call->hash, bytes, len);
	call->bytes += len;
	if (call->progress && call->bytes - call->shown >= PROGRESS_STEP) {
		call->shown = call->bytes;
		call->progress(call->bytes);
	}
	return 0;
}

static void on_done(void *ctx, const struct http_response *response)
{
	struct call *call = ctx;

	call->response = *response;
	call->done = true;
}

static void begin_anew(struct call *call)
{
	char unused[DIGEST_NAME_MAX];

	if (call->document)
		buffer_consume(call->document, call->document->len);
	else if (call->bytes)
		hash_finish(call->hash, unused);
	call->bytes = call->shown = 0;
	call->done = false;
	call->failure = (struct error){ 0 };
}

/* Follows where it leads. 0 done, 1 may be better later, -1. */
static int try_once(struct http *http, const char *url, struct call *call,
		    struct error *err)
{
	char at[HTTP_URL_MAX], to[HTTP_URL_MAX];
	struct http_request request = { .method = "GET",
					.url = at,
					.body_fd = -1,
					.small = call->document != NULL,
					.sink = on_bytes,
					.done = on_done,
					.ctx = call };
	const struct http_response *response = &call->response;
	char reason[200];
	bool same;

	if (text_copy(at, sizeof(at), url) < 0)
		return error_set(err, 0, "its address is too long");
	for (unsigned i = 0; i < REDIRECTS_MAX; i++) {
		begin_anew(call);
		if (http_start(http, &request, err) < 0)
			return -1;
		while (!call->done)
			if (http_step(http, STEP_MS, err) < 0)
				return -1;
		if (call->failure.text[0]) {
			*err = call->failure;
			return -1;
		}
		if (response->failure != HTTP_FINE) {
			text_printable(response->reason,
				       strlen(response->reason), reason,
				       sizeof(reason));
			error_set(err, 0, "%s", reason);
			return response->failure == HTTP_UNTRUSTED ? -1 : 1;
		}
		if (response->status >= 200 && response->status < 300)
			return 0;
		error_set(err, response->status == 404 ? ENOENT : 0,
			  "it answers %d", response->status);
		if (response->status == 429 || response->status >= 500)
			return 1;
		if (response->status < 300 || response->status >= 400)
			return -1;
		if (registry_url_join(at, response->location, to, &same, err) <
		    0)
			return -1;
		text_copy(at, sizeof(at), to);
	}
	return error_set(err, 0, "it sends us in circles");
}

static int get(struct http *http, const char *url, struct call *call,
	       struct error *err)
{
	int result = 1;

	for (unsigned i = 0; i < ATTEMPTS && result > 0; i++) {
		struct timespec pause = { .tv_sec = i ? 1 << (i - 1) : 0 };

		nanosleep(&pause, NULL);
		result = try_once(http, url, call, err);
	}
	return result ? -1 : 0;
}

/* ---- a package ---- */

static int ask(const struct npm_order *order, const char *version,
	       struct http *http, struct npm_manifest *manifest,
	       struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(NPM_MANIFEST_BYTES_MAX);
	struct call call = { .document = &text, .out = -1 };
	const char *slash = strchr(order->package, '/');
	size_t scope = slash ? (size_t)(slash - order->package) : 0;
	char url[HTTP_URL_MAX];
	int result;

	text_format(url, sizeof(url), "%s/%.*s%s%s/%s", order->registry,
		    (int)scope, order->package, slash ? "%2f" : "",
		    slash ? slash + 1 : order->package, version);
	result = get(http, url, &call, err);
	if (result == 0)
		result = npm_manifest_parse(text.data, text.len, order->package,
					    manifest, err);
	return result < 0 ? error_prefix(err, "%s %s: the npm registry",
					 order->package, version)
			  : 0;
}

static int load(const struct npm_order *order, struct http *http,
		const struct npm_manifest *manifest, struct call *call,
		struct error *err)
{
	char url[HTTP_URL_MAX], digest[DIGEST_NAME_MAX];
	bool same;

	if (registry_url_join(order->registry, manifest->tarball, url, &same,
			      err) < 0 ||
	    get(http, url, call, err) < 0)
		return -1;
	hash_finish(call->hash, digest);
	if (strcmp(digest, manifest->digest) != 0)
		return error_set(err, 0,
				 "what came is not what its SHA-512 "
				 "says");
	/* a longer attempt may have come before */
	if (ftruncate(call->out, (off_t)call->bytes) < 0)
		return error_set(err, errno, "the package");
	return 0;
}

int npm_fetch(const struct npm_order *order, struct http *http, int out,
	      npm_progress_fn *progress, struct npm_manifest *manifest,
	      struct error *err)
{
	struct call call = { .out = out, .progress = progress };
	char version[2 * NPM_VERSION_MAX];
	int result;

	if (ask(order, order->version, http, manifest, err) < 0)
		return -1;
	if (order->suffix[0]) {
		text_format(version, sizeof(version), "%s%s", manifest->version,
			    order->suffix);
		if (ask(order, version, http, manifest, err) < 0)
			return -1;
	}
	call.hash = hash_new("sha512");
	result = load(order, http, manifest, &call, err);
	hash_free(call.hash);
	return result < 0 ? error_prefix(err, "%s %s", order->package,
					 manifest->version)
			  : 0;
}
