/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fetch.c - an image of a registry: its documents, then its layers
 *
 * Everything is checked against the digest by which it was named; only a tag
 * is taken on the registry's word.
 */
#include "image/fetch.h"

#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "image/blob_file.h"
#include "image/hash.h"
#include "image/order.h"
#include "image/talk.h"
#include "oci/manifest.h"

#define INDEX_DEPTH_MAX 3
#define PROGRESS_MS 100
#define ANY_SIZE UINT64_MAX

struct part {
	struct blob_file file;
	size_t layer; /* its number; for progress */
	uint64_t shown;
	int fd; /* owned; -1: nothing to do */
};

struct fetch {
	const struct order *order;
	struct registry *registry; /* the one that answers; borrowed */
	struct image image;
	struct buffer manifest, config;
	struct part *parts; /* owned; one for each layer */
	uint64_t shown_ms;
};

/* ---- documents ---- */

static int document_begin(void *ctx, uint64_t offset, struct error *err)
{
	struct buffer *document = ctx;

	if (offset)
		return error_set(err, 0, "it sends a part of a document");
	buffer_consume(document, document->len);
	return 0;
}

static int document_data(void *ctx, const void *bytes, size_t len,
			 struct error *err)
{
	struct buffer *document = ctx;

	return buffer_append(document, bytes, len) < 0
		       ? error_set(err, 0,
				   "a document is larger than %zu bytes",
				   document->max)
		       : 0;
}

static int document_complete(void *ctx, struct error *err)
{
	return 0;
}

static const struct registry_sink document_sink = {
	.begin = document_begin,
	.data = document_data,
	.complete = document_complete,
};

static int check_document(const struct fetch *fetch,
			  const struct buffer *document,
			  const struct image_descriptor *wanted,
			  struct error *err)
{
	const char *host = registry_host(fetch->registry);
	char name[DIGEST_NAME_MAX];

	if (wanted->size != ANY_SIZE && document->len != wanted->size)
		return error_set(
			err, 0, "%s: a document has %zu bytes, not %llu", host,
			document->len, (unsigned long long)wanted->size);
	if (!wanted->digest[0])
		return 0;
	hash_bytes(document->data, document->len, wanted->digest, name);
	return strcmp(name, wanted->digest) == 0
		       ? 0
		       : error_set(err, 0,
				   "%s: %.19s...: what came has another "
				   "digest (%.19s...)",
				   host, wanted->digest, name);
}

/* wanted->digest may be "": then what the registry calls it is checked. */
static int get_document(struct fetch *fetch, struct registry_call *call,
			struct buffer *document,
			struct image_descriptor *wanted, struct error *err)
{
	call->small = true;
	call->sink = &document_sink;
	call->ctx = document;
	if (registry_run(fetch->registry, call, 1, NULL, NULL, err) < 0)
		return -1;
	if (!wanted->digest[0])
		text_copy(wanted->digest, sizeof(wanted->digest),
			  call->response.digest);
	text_copy(wanted->media_type, sizeof(wanted->media_type),
		  call->response.content_type);
	return check_document(fetch, document, wanted, err);
}

static int get_manifest(struct fetch *fetch, const char *reference,
			struct image_descriptor *wanted,
			struct manifest *manifest, struct error *err)
{
	AUTO_FREE struct registry_call *call = xcalloc(1, sizeof(*call));

	registry_call_init(fetch->registry, call, "GET", "manifests/%s",
			   reference);
	call->accept = manifest_accept;
	if (get_document(fetch, call, &fetch->manifest, wanted, err) < 0)
		return -1;
	hash_bytes(fetch->manifest.data, fetch->manifest.len, wanted->digest,
		   wanted->digest);
	wanted->size = fetch->manifest.len;
	if (manifest_parse(fetch->manifest.data, fetch->manifest.len,
			   wanted->media_type, &fetch->order->platform,
			   manifest, &fetch->image, err) < 0)
		return error_prefix(err, "%s", registry_host(fetch->registry));
	text_copy(wanted->media_type, sizeof(wanted->media_type),
		  manifest->media_type);
	return 0;
}

/* Through indexes to the manifest of the platform. */
static int find_manifest(struct fetch *fetch, struct error *err)
{
	const struct order *order = fetch->order;
	const char *reference = order->digest[0] ? order->digest : order->tag;
	struct image_descriptor wanted = { .size = ANY_SIZE };
	struct manifest manifest;

	text_copy(wanted.digest, sizeof(wanted.digest), order->digest);
	for (unsigned depth = 0; depth < INDEX_DEPTH_MAX; depth++) {
		if (get_manifest(fetch, reference, &wanted, &manifest, err) < 0)
			return -1;
		if (manifest.kind == MANIFEST_IMAGE) {
			fetch->image.manifest = wanted;
			return 0;
		}
		wanted = manifest.chosen;
		reference = wanted.digest;
	}
	return error_set(err, 0, "%s: an index leads to an index, and so on",
			 registry_host(fetch->registry));
}

static int find_config(struct fetch *fetch, struct error *err)
{
	AUTO_FREE struct registry_call *call = xcalloc(1, sizeof(*call));
	struct image_descriptor wanted = fetch->image.config;

	registry_call_init(fetch->registry, call, "GET", "blobs/%s",
			   wanted.digest);
	if (get_document(fetch, call, &fetch->config, &wanted, err) < 0)
		return -1;
	if (manifest_parse_config(fetch->config.data, fetch->config.len,
				  &fetch->order->platform, &fetch->image,
				  err) < 0)
		return error_prefix(err, "%s", registry_host(fetch->registry));
	return 0;
}

/* ---- layers ---- */

static uint64_t part_have(void *ctx)
{
	struct part *part = ctx;

	return part->file.have;
}

static int part_begin(void *ctx, uint64_t offset, struct error *err)
{
	struct part *part = ctx;

	if (offset == part->file.have)
		return 0;
	if (offset)
		return error_set(err, 0,
				 "it sends another part than asked for");
	return blob_file_reset(&part->file, err);
}

static int part_data(void *ctx, const void *bytes, size_t len,
		     struct error *err)
{
	struct part *part = ctx;

	return blob_file_append(&part->file, bytes, len, err);
}

static int part_complete(void *ctx, struct error *err)
{
	struct part *part = ctx;
	int result = blob_file_check(&part->file, err);

	if (result)
		return result;
	return talk_done(part->file.descriptor.digest, err);
}

static const struct registry_sink part_sink = {
	.have = part_have,
	.begin = part_begin,
	.data = part_data,
	.complete = part_complete,
};

static void on_tick(void *ctx)
{
	struct fetch *fetch = ctx;
	uint64_t now = loop_now_ms();
	json_t *parts;

	if (now - fetch->shown_ms < PROGRESS_MS)
		return;
	fetch->shown_ms = now;
	parts = json_array();
	for (size_t i = 0; i < fetch->image.layer_count; i++) {
		struct part *part = &fetch->parts[i];

		if (part->fd < 0 || part->file.have == part->shown)
			continue;
		part->shown = part->file.have;
		json_array_append_new(parts,
				      json_pack("[I, I]", (json_int_t)i,
						(json_int_t)part->shown));
	}
	if (json_array_size(parts))
		talk_progress(parts);
	else
		json_decref(parts);
}

static bool is_repeated(const struct image *image, size_t layer)
{
	for (size_t i = 0; i < layer; i++)
		if (strcmp(image->layers[i].digest,
			   image->layers[layer].digest) == 0)
			return true;
	return false;
}

/* 1 when there is something to fetch for it, 0 when not. */
static int prepare_part(struct fetch *fetch, size_t layer, struct error *err)
{
	struct part *part = &fetch->parts[layer];
	const struct image_descriptor *descriptor = &fetch->image.layers[layer];
	int wanted = is_repeated(&fetch->image, layer)
			     ? 0
			     : talk_blob(descriptor, &part->fd, err);

	part->layer = layer;
	if (wanted <= 0)
		return wanted;
	if (blob_file_init(&part->file, part->fd, descriptor, err) < 0)
		return -1;
	/* complete, but whoever fetched it had no time to say so */
	if (part->file.have < descriptor->size)
		return 1;
	wanted = blob_file_check(&part->file, err);
	if (wanted)
		return wanted;
	if (talk_done(descriptor->digest, err) < 0)
		return -1;
	return 0;
}

static int get_layers(struct fetch *fetch, struct error *err)
{
	AUTO_FREE struct registry_call *calls =
		xcalloc(fetch->image.layer_count + 1, sizeof(*calls));
	size_t count = 0;

	for (size_t i = 0; i < fetch->image.layer_count; i++) {
		int wanted = prepare_part(fetch, i, err);

		if (wanted < 0)
			return -1;
		if (wanted == 0)
			continue;
		registry_call_init(fetch->registry, &calls[count], "GET",
				   "blobs/%s", fetch->image.layers[i].digest);
		calls[count].sink = &part_sink;
		calls[count++].ctx = &fetch->parts[i];
	}
	return registry_run(fetch->registry, calls, count, on_tick, fetch, err);
}

static int put_document(const struct image_descriptor *descriptor,
			const struct buffer *document, struct error *err)
{
	struct blob_file file;
	AUTO_CLOSE int fd = -1;
	int result = talk_blob(descriptor, &fd, err);

	if (result <= 0)
		return result;
	result = blob_file_init(&file, fd, descriptor, err);
	if (result == 0)
		result = blob_file_reset(&file, err);
	if (result == 0)
		result = blob_file_append(&file, document->data, document->len,
					  err);
	if (result == 0)
		result = blob_file_check(&file, err);
	blob_file_release(&file);
	return result ? -1 : talk_done(descriptor->digest, err);
}

static int get_content(struct fetch *fetch, struct error *err)
{
	int go = talk_image(&fetch->image, NULL, err);

	if (go <= 0)
		return go;
	if (put_document(&fetch->image.manifest, &fetch->manifest, err) < 0 ||
	    put_document(&fetch->image.config, &fetch->config, err) < 0)
		return -1;
	return get_layers(fetch, err);
}

/* ---- places ---- */

static void fetch_init(struct fetch *fetch, const struct order *order,
		       struct registry *registry)
{
	*fetch = (struct fetch){ .order = order, .registry = registry };
	image_init(&fetch->image);
	buffer_init(&fetch->manifest, MANIFEST_MAX);
	buffer_init(&fetch->config, MANIFEST_CONFIG_MAX);
}

static void fetch_release(struct fetch *fetch)
{
	for (size_t i = 0; fetch->parts && i < fetch->image.layer_count; i++) {
		blob_file_release(&fetch->parts[i].file);
		if (fetch->parts[i].fd >= 0)
			close(fetch->parts[i].fd);
	}
	free(fetch->parts);
	image_release(&fetch->image);
	buffer_release(&fetch->manifest);
	buffer_release(&fetch->config);
}

static int fetch_from(const struct order *order, struct registry *registry,
		      struct error *err)
{
	struct fetch fetch;
	int result;

	fetch_init(&fetch, order, registry);
	result = find_manifest(&fetch, err);
	if (result == 0)
		result = find_config(&fetch, err);
	if (result == 0) {
		fetch.parts = xcalloc(fetch.image.layer_count + 1,
				      sizeof(*fetch.parts));
		for (size_t i = 0; i < fetch.image.layer_count; i++)
			fetch.parts[i].fd = -1;
		result = get_content(&fetch, err);
	}
	fetch_release(&fetch);
	return result;
}

static const char *const verdicts[] = {
	[REGISTRY_UNREACHABLE] = "unreachable",
	[REGISTRY_DENIED] = "denied",
	[REGISTRY_MISSING] = "missing",
	[REGISTRY_FAILED] = "failed",
};

int fetch_image(const struct order *order, struct registry **registries,
		struct error *err)
{
	enum registry_verdict verdict = REGISTRY_FAILED;

	for (size_t i = 0; i < order->place_count; i++) {
		if (fetch_from(order, registries[i], err) == 0)
			return 0;
		verdict = registry_verdict(registries[i]);
		if (i + 1 < order->place_count)
			log_warn("mirror %s; trying the next place", err->text);
	}
	talk_failed(verdict >= REGISTRY_UNREACHABLE ? verdicts[verdict]
						    : "failed");
	return -1;
}
