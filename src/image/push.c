/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push.c - an image to a registry: what it lacks, then the manifest
 *
 * Each blob: is it there? (HEAD); a place for it (POST); the bytes (PUT). A
 * PUT that broke cannot be gone on with in its place, so all three are done
 * again for what is still missing.
 */
#include "image/push.h"

#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "image/order.h"
#include "image/registry_url.h"
#include "image/talk.h"
#include "oci/manifest.h"

#define ROUNDS 3
#define PROGRESS_MS 100

struct blob {
	const struct image_descriptor *descriptor; /* borrowed */
	int fd;                                    /* owned */
	bool is_there;                             /* at the registry */
	uint64_t shown;
};

struct push {
	const struct order *order;
	struct registry *registry;
	struct blob *blobs; /* owned; layers in order, then the config */
	size_t count;
	struct registry_call *calls; /* owned; as many */
	size_t call_count;
	size_t *blob_of; /* owned; which blob a call is about */
	uint64_t shown_ms;
};

static const char *digest_of(const struct push *push, size_t blob)
{
	return push->blobs[blob].descriptor->digest;
}

static void on_tick(void *ctx)
{
	struct push *push = ctx;
	uint64_t now = loop_now_ms();
	json_t *parts;

	if (now - push->shown_ms < PROGRESS_MS)
		return;
	push->shown_ms = now;
	parts = json_array();
	for (size_t i = 0; i < push->call_count; i++)
		json_array_append_new(
			parts, json_pack("[I, I]", (json_int_t)push->blob_of[i],
					 (json_int_t)push->calls[i].sent));
	talk_progress(parts);
}

static int run(struct push *push, struct error *err)
{
	return registry_run(push->registry, push->calls, push->call_count,
			    on_tick, push, err);
}

/* One call for each blob that is not known to be there. */
static void begin_round(struct push *push, const char *method)
{
	bool head = strcmp(method, "HEAD") == 0;

	push->call_count = 0;
	for (size_t i = 0; i < push->count; i++) {
		if (push->blobs[i].is_there)
			continue;
		registry_call_init(
			push->registry, &push->calls[push->call_count], method,
			"blobs/%s", head ? digest_of(push, i) : "uploads/");
		push->calls[push->call_count].missing_is_fine = head;
		push->blob_of[push->call_count++] = i;
	}
}

static int look(struct push *push, struct error *err)
{
	begin_round(push, "HEAD");
	if (run(push, err) < 0)
		return -1;
	for (size_t i = 0; i < push->call_count; i++) {
		size_t blob = push->blob_of[i];

		if (push->calls[i].response.status != 200)
			continue;
		push->blobs[blob].is_there = true;
		if (talk_done(digest_of(push, blob), err) < 0)
			return -1;
	}
	return 0;
}

static int aim(struct push *push, size_t call, struct error *err)
{
	struct registry_call *upload = &push->calls[call];
	const struct blob *blob = &push->blobs[push->blob_of[call]];
	AUTO_FREE char *location = xstrdup(upload->response.location);

	if (!*location)
		return error_set(err, 0, "%s: it gives no place for a layer",
				 registry_host(push->registry));
	registry_call_init(push->registry, upload, "PUT", "blobs/");
	if (registry_call_to(push->registry, upload, location, err) < 0 ||
	    registry_url_add(upload->url, "digest", blob->descriptor->digest,
			     err) < 0)
		return -1;
	text_copy(upload->at, sizeof(upload->at), upload->url);
	upload->content_type = "application/octet-stream";
	upload->body_fd = blob->fd;
	upload->body_len = blob->descriptor->size;
	/* its place is used up by the first try */
	upload->once = true;
	return 0;
}

static int send_missing(struct push *push, struct error *err)
{
	begin_round(push, "POST");
	if (run(push, err) < 0)
		return -1;
	for (size_t i = 0; i < push->call_count; i++)
		if (aim(push, i, err) < 0)
			return -1;
	return run(push, err);
}

static bool all_are_there(const struct push *push)
{
	for (size_t i = 0; i < push->count; i++)
		if (!push->blobs[i].is_there)
			return false;
	return true;
}

static int send_blobs(struct push *push, struct error *err)
{
	for (unsigned round = 0;; round++) {
		if (look(push, err) < 0)
			return -1;
		if (all_are_there(push))
			return 0;
		if (send_missing(push, err) == 0) {
			for (size_t i = 0; i < push->call_count; i++)
				if (talk_done(digest_of(push, push->blob_of[i]),
					      err) < 0)
					return -1;
			return 0;
		}
		if (round + 1 == ROUNDS ||
		    registry_verdict(push->registry) == REGISTRY_DENIED)
			return -1;
	}
}

static int send_manifest(struct push *push, struct error *err)
{
	const struct image_descriptor *manifest = &push->order->image.manifest;
	AUTO_FREE struct registry_call *call = xcalloc(1, sizeof(*call));
	AUTO_BUFFER struct buffer text = BUFFER_INIT(MANIFEST_MAX);
	AUTO_CLOSE int fd = -1;
	int got = talk_blob(manifest, &fd, err);

	if (got <= 0)
		return got < 0 ? -1 : error_set(err, 0, "no manifest");
	if (fileio_read_fd(fd, &text, err) < 0)
		return -1;
	registry_call_init(push->registry, call, "PUT", "manifests/%s",
			   push->order->tag);
	call->small = true;
	call->content_type = manifest->media_type;
	call->body = text.data;
	call->body_len = text.len;
	return registry_run(push->registry, call, 1, NULL, NULL, err);
}

static int open_blobs(struct push *push, struct error *err)
{
	const struct image *image = &push->order->image;

	for (size_t i = 0; i <= image->layer_count; i++) {
		struct blob *blob = &push->blobs[push->count];
		int got;

		blob->descriptor = i < image->layer_count ? &image->layers[i]
							  : &image->config;
		got = talk_blob(blob->descriptor, &blob->fd, err);
		if (got < 0)
			return -1;
		if (got == 0)
			return error_set(err, 0, "%.19s... is not in the cache",
					 blob->descriptor->digest);
		push->count++;
	}
	return 0;
}

static const char *verdict_of(const struct registry *registry)
{
	switch (registry_verdict(registry)) {
	case REGISTRY_UNREACHABLE:
		return "unreachable";
	case REGISTRY_DENIED:
		return "denied";
	case REGISTRY_MISSING:
		return "missing";
	default:
		return "failed";
	}
}

int push_image(const struct order *order, struct registry *registry,
	       struct error *err)
{
	size_t most = order->image.layer_count + 1;
	struct push push = { .order = order, .registry = registry };
	int result;

	push.blobs = xcalloc(most, sizeof(*push.blobs));
	push.calls = xcalloc(most, sizeof(*push.calls));
	push.blob_of = xcalloc(most, sizeof(*push.blob_of));
	result = open_blobs(&push, err);
	if (result == 0)
		result = send_blobs(&push, err);
	if (result == 0)
		result = send_manifest(&push, err);
	if (result < 0)
		talk_failed(verdict_of(registry));
	for (size_t i = 0; i < push.count; i++)
		close(push.blobs[i].fd);
	free(push.blobs);
	free(push.calls);
	free(push.blob_of);
	return result;
}
