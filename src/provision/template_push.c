/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_push.c - templates to registries and into archives
 *
 * Both send the parts as they came, from the cache, so that what arrives has
 * the digests that it had.
 */
#include "provision/template_push.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "oci/image.h"
#include "oci/reference.h"
#include "provision/blob_store.h"
#include "provision/image_process.h"
#include "provision/registry_order.h"
#include "provision/template.h"

struct sending {
	struct blob_store blobs;
	struct template template;
	const struct progress *progress;
	struct progress_part *parts; /* owned; one for each layer */
	char (*names)[16];           /* owned */
	int fd;                      /* the blob that was given last; owned */
};

static void release(struct sending *sending)
{
	blob_store_close(&sending->blobs);
	template_release(&sending->template);
	free(sending->parts);
	free(sending->names);
	if (sending->fd >= 0)
		close(sending->fd);
}

static int missing(const struct sending *sending, struct error *err)
{
	return error_set(err, 0,
			 "its layers are not in the cache any more (`bawn "
			 "template rm %s` and `bawn template pull %s` bring "
			 "them back)",
			 sending->template.name, sending->template.name);
}

static int check_blobs(const struct sending *sending, struct error *err)
{
	const struct image *image = sending->template.image;

	for (size_t i = 0; i < image->layer_count + 2; i++) {
		const struct image_descriptor *blob =
			i < image->layer_count    ? &image->layers[i]
			: i == image->layer_count ? &image->config
						  : &image->manifest;
		AUTO_CLOSE int fd = blob_store_get(&sending->blobs, blob, NULL);

		if (fd < 0)
			return missing(sending, err);
	}
	return 0;
}

static void list_parts(struct sending *sending)
{
	const struct image *image = sending->template.image;

	sending->parts =
		xcalloc(image->layer_count + 1, sizeof(*sending->parts));
	sending->names =
		xcalloc(image->layer_count + 1, sizeof(*sending->names));
	for (size_t i = 0; i < image->layer_count; i++) {
		memcpy(sending->names[i],
		       digest_name_hex(image->layers[i].digest), 12);
		sending->parts[i] = (struct progress_part){
			.name = sending->names[i],
			.state = "waiting",
			.total = image->layers[i].size,
		};
	}
}

static int begin(struct sending *sending, const char *name,
		 const struct progress *progress, struct error *err)
{
	*sending = (struct sending){ .blobs = BLOB_STORE_INIT,
				     .progress = progress,
				     .fd = -1 };
	if (template_find(name, &sending->template, err) < 0)
		return -1;
	if (!sending->template.image)
		return error_set(err, 0,
				 "template %s was not made from an image, and "
				 "has no layers (`bawn save SANDBOX TAG` makes "
				 "one that has)",
				 name);
	if (blob_store_open(&sending->blobs, BLOB_STORE_SHARED, err) < 0 ||
	    check_blobs(sending, err) < 0)
		return error_prefix(err, "template %s", name);
	list_parts(sending);
	return 0;
}

/* ---- what the process asks ---- */

static int on_blob(void *ctx, const struct image_descriptor *blob,
		   struct error *err)
{
	struct sending *sending = ctx;

	if (sending->fd >= 0)
		close(sending->fd);
	sending->fd = blob_store_get(&sending->blobs, blob, err);
	return sending->fd;
}

static void show(struct sending *sending)
{
	progress_parts(sending->progress, sending->parts,
		       sending->template.image->layer_count);
}

static int on_done(void *ctx, const char *digest, struct error *err)
{
	struct sending *sending = ctx;
	const struct image *image = sending->template.image;

	for (size_t i = 0; i < image->layer_count; i++) {
		if (strcmp(image->layers[i].digest, digest) != 0)
			continue;
		sending->parts[i].state = "done";
		sending->parts[i].done = sending->parts[i].total;
	}
	show(sending);
	return 0;
}

static void on_progress(void *ctx, size_t part, uint64_t bytes)
{
	struct sending *sending = ctx;

	if (part >= sending->template.image->layer_count)
		return;
	sending->parts[part].done = bytes;
	if (bytes)
		sending->parts[part].state = "sending";
	show(sending);
}

static int on_image(void *ctx, const struct image *image, const json_t *facts,
		    struct error *err)
{
	return error_set(err, EPROTO, "an image came where one was to go");
}

static int send_with(struct sending *sending, const char *const *argv,
		     int input, int output, struct error *err)
{
	struct image_handlers handlers = { .image = on_image,
					   .blob = on_blob,
					   .done = on_done,
					   .progress = on_progress,
					   .ctx = sending };
	struct image_process process;

	if (image_process_start_to(&process, argv, input, output, err) < 0)
		return -1;
	return image_process_run(&process, &handlers, err);
}

/* ---- both ways ---- */

int template_push(const char *name, const struct progress *progress,
		  struct error *err)
{
	static const char *const argv[] = { "bawn-registry", "push", NULL };
	struct sending sending;
	struct reference reference;
	struct registry_order order = { .reference = &reference };
	AUTO_FREE char *title = xasprintf("pushing %s", name);
	AUTO_CLOSE int input = -1;
	int result;

	/* digits find a template, but say nothing of where it should go */
	if (!template_is_id(name) && reference_parse(name, &reference, err) < 0)
		return -1;
	if (template_is_id(name) || reference.digest[0])
		return error_set(err, 0,
				 "%s: what is pushed needs a name and a tag, "
				 "not a digest",
				 name);
	result = begin(&sending, name, progress, err);
	if (result == 0) {
		order.push = sending.template.image;
		input = registry_order_open(&order, err);
		progress_step(progress, title);
		result = input < 0 ? -1
				   : send_with(&sending, argv, input, -1, err);
		progress_done(progress);
		if (result < 0)
			error_prefix(err, "pushing %s", name);
	}
	release(&sending);
	return result;
}

int template_save(const char *name, int fd, const struct progress *progress,
		  struct error *err)
{
	static const char *const argv[] = { "bawn-image", "save", NULL };
	AUTO_FREE char *title = xasprintf("writing %s", name);
	AUTO_FREE char *text = NULL;
	AUTO_CLOSE int input = -1;
	struct sending sending;
	json_t *order = NULL;
	int result = begin(&sending, name, progress, err);

	if (result == 0)
		order = json_pack("{s:s, s:o}", "name",
				  sending.template.reference, "image",
				  image_to_json(sending.template.image));
	text = order ? json_dumps(order, JSON_COMPACT) : NULL;
	json_decref(order);
	if (result == 0) {
		input = image_process_text(text ? text : "", err);
		progress_step(progress, title);
		result = input < 0 ? -1
				   : send_with(&sending, argv, input, fd, err);
		progress_done(progress);
		if (result < 0)
			error_prefix(err, "writing %s", name);
	}
	release(&sending);
	return result;
}
