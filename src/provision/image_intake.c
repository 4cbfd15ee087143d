/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image_intake.c - an image from somewhere into the stores
 */
#include "provision/image_intake.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/progress.h"
#include "base/text.h"
#include "oci/manifest.h"
#include "provision/blob_store.h"
#include "provision/image_unpack.h"
#include "provision/template_build.h"
#include "provision/template_store.h"
#include "state/digest.h"

#define SHOW_MS 100
#define DISK_MIN (16ull << 30) /* as bawn-image makes them */
#define DISK_MAX (1ull << 40)
/* Guesses of what packed layers become, for the check of space. */
#define UNPACKED_GUESS 3
#define DISK_GUESS 6
#define FILES_WANTED 2048

/* A layer, or the configuration, or the manifest. */
struct part {
	struct image_descriptor blob;
	struct blob_partial partial;
	bool have;   /* it is in the store */
	bool cached; /* and was so before */
	uint64_t bytes;
	char name[24]; /* for people */
};

struct taking {
	const struct intake_source *source;
	const struct progress *progress;
	struct intake *intake;
	struct image_process process;
	struct image_unpack unpack;
	struct blob_store blobs;
	struct template_store content;
	int content_lock;
	struct template_build build;
	struct template_making making;
	struct part *parts; /* owned; layers first */
	size_t part_count;
	size_t told; /* layers that the unpacker knows to be complete */
	uint64_t shown_ms;
};

/* ---- ids and sizes ---- */

void intake_chain(const struct image *image, char id[DIGEST_NAME_MAX])
{
	char hex[DIGEST_HEX];

	if (!image->layer_count) {
		digest_bytes("", 0, hex);
		text_format(id, DIGEST_NAME_MAX, "sha256:%s", hex);
		return;
	}
	text_copy(id, DIGEST_NAME_MAX, image->diff_ids[0]);
	for (size_t i = 1; i < image->layer_count; i++) {
		char both[2 * DIGEST_NAME_MAX];

		text_format(both, sizeof(both), "%s %s", id,
			    image->diff_ids[i]);
		digest_bytes(both, strlen(both), hex);
		text_format(id, DIGEST_NAME_MAX, "sha256:%s", hex);
	}
}

static uint64_t unpacked_guess(const struct image *image, unsigned factor)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < image->layer_count; i++) {
		const struct image_descriptor *layer = &image->layers[i];

		sum += manifest_packing_of(layer->media_type) == MANIFEST_PLAIN
			       ? layer->size
			       : factor * layer->size;
	}
	return sum;
}

static uint64_t disk_size(const struct image *image)
{
	uint64_t size = unpacked_guess(image, DISK_GUESS) + (4ull << 30);

	if (size < DISK_MIN)
		return DISK_MIN;
	return size < DISK_MAX ? size : DISK_MAX;
}

static int check_space(struct taking *taking, struct error *err)
{
	const struct image *image = &taking->intake->image;
	struct template_store cache = { .fd = taking->blobs.folder };
	AUTO_FREE char *path = paths_of(PATHS_CACHE, NULL, err);
	uint64_t missing = 0, disk = unpacked_guess(image, UNPACKED_GUESS);

	for (size_t i = 0; i < taking->part_count; i++)
		missing +=
			taking->parts[i].have ? 0 : taking->parts[i].blob.size;
	cache.path = path;
	if (!path || template_store_check_space(&cache, missing, err) < 0)
		return -1;
	/* both may lie on one disk */
	return template_store_check_space(&taking->content, disk + missing,
					  err);
}

/* ---- parts ---- */

static void add_part(struct taking *taking, const struct image_descriptor *blob,
		     const char *name)
{
	struct part *part = &taking->parts[taking->part_count++];

	*part = (struct part){ .blob = *blob, .partial = BLOB_PARTIAL_INIT };
	text_copy(part->name, sizeof(part->name), name);
}

static void list_parts(struct taking *taking)
{
	const struct image *image = &taking->intake->image;
	char name[24];

	taking->parts = xcalloc(image->layer_count + 2, sizeof(*taking->parts));
	for (size_t i = 0; i < image->layer_count; i++) {
		text_format(name, sizeof(name), "%.12s",
			    digest_name_hex(image->layers[i].digest));
		add_part(taking, &image->layers[i], name);
	}
	add_part(taking, &image->config, "configuration");
	add_part(taking, &image->manifest, "manifest");
}

static struct part *same_before(struct taking *taking, size_t number)
{
	for (size_t i = 0; i < number; i++)
		if (strcmp(taking->parts[i].blob.digest,
			   taking->parts[number].blob.digest) == 0)
			return &taking->parts[i];
	return NULL;
}

/* A descriptor to read it from, now or when it is complete. */
static int open_part(struct taking *taking, size_t number, struct error *err)
{
	struct part *part = &taking->parts[number];
	const struct part *first = same_before(taking, number);
	int fd = blob_store_get(&taking->blobs, &part->blob, NULL);

	if (fd >= 0) {
		part->have = part->cached = true;
		return fd;
	}
	if (!first) {
		if (blob_store_begin(&taking->blobs, &part->blob,
				     &part->partial, err) < 0)
			return -1;
		first = part;
	}
	return blob_store_reopen(&taking->blobs, &first->partial, err);
}

static void release_parts(struct taking *taking)
{
	for (size_t i = 0; i < taking->part_count; i++)
		blob_store_leave(&taking->blobs, &taking->parts[i].partial,
				 taking->source->rest);
	free(taking->parts);
	taking->parts = NULL;
	taking->part_count = 0;
}

/* ---- what people see ---- */

static const char *state_of(const struct taking *taking, size_t layer)
{
	const struct part *part = &taking->parts[layer];

	if (!part->have)
		return part->bytes ? "fetching" : "waiting";
	if (layer < taking->unpack.layer)
		return "done";
	return layer == taking->unpack.layer && taking->unpack.bytes
		       ? "unpacking"
		       : "fetched";
}

static void show(struct taking *taking, bool now)
{
	size_t count = taking->intake->image.layer_count;
	AUTO_FREE struct progress_part *parts =
		xcalloc(count + 1, sizeof(*parts));
	uint64_t done = 0, total = 0, now_ms = loop_now_ms();

	if (!now && now_ms - taking->shown_ms < SHOW_MS)
		return;
	taking->shown_ms = now_ms;
	for (size_t i = 0; i < count; i++) {
		const struct part *part = &taking->parts[i];
		bool unpacks = i == taking->unpack.layer && part->have;

		parts[i] = (struct progress_part){
			.name = part->name,
			.state = state_of(taking, i),
			.done = unpacks ? taking->unpack.bytes : part->bytes,
			.total = part->blob.size,
		};
		done += part->have ? part->blob.size : part->bytes;
		total += part->blob.size;
	}
	progress_parts(taking->progress, parts, count);
	progress_update(taking->progress, done, total);
}

/* ---- what the process asks ---- */

static void tell_ready(struct taking *taking)
{
	size_t count = taking->intake->image.layer_count, more = 0;

	while (taking->told + more < count &&
	       taking->parts[taking->told + more].have)
		more++;
	taking->told += more;
	image_unpack_ready(&taking->unpack, more);
}

static int on_blob(void *ctx, const struct image_descriptor *blob,
		   struct error *err)
{
	struct taking *taking = ctx;

	for (size_t i = 0; i < taking->part_count; i++) {
		const struct part *part = &taking->parts[i];

		if (strcmp(part->blob.digest, blob->digest) != 0 ||
		    part->blob.size != blob->size)
			continue;
		return part->have ? IMAGE_BLOB_HAVE : part->partial.fd;
	}
	return error_set(err, EPROTO, "%s asks for what is not of the image",
			 taking->process.program);
}

static int on_done(void *ctx, const char *digest, struct error *err)
{
	struct taking *taking = ctx;
	bool known = false;

	for (size_t i = 0; i < taking->part_count; i++) {
		struct part *part = &taking->parts[i];

		if (strcmp(part->blob.digest, digest) != 0)
			continue;
		known = true;
		if (part->partial.fd >= 0 &&
		    blob_store_commit(&taking->blobs, &part->partial, err) < 0)
			return -1;
		part->have = true;
		part->bytes = part->blob.size;
	}
	if (!known)
		return error_set(err, EPROTO,
				 "%s has done what is not of the "
				 "image",
				 taking->process.program);
	tell_ready(taking);
	show(taking, false);
	return 0;
}

static void on_progress(void *ctx, size_t number, uint64_t bytes)
{
	struct taking *taking = ctx;

	if (number < taking->intake->image.layer_count && taking->parts)
		taking->parts[number].bytes = bytes;
	show(taking, false);
}

static int take_image(struct intake *intake, const json_t *facts,
		      struct error *err)
{
	AUTO_FREE char *text = json_dumps(facts, 0);

	image_release(&intake->image);
	if (image_from_json(facts, &intake->image, err) < 0)
		return -1;
	json_decref(intake->facts);
	intake->facts = text ? json_loads(text, 0, NULL) : NULL;
	intake_chain(&intake->image, intake->content);
	return 0;
}

/* Every part is opened for the unpacker, come what may. */
static int start_unpacking(struct taking *taking, struct error *err)
{
	const struct image *image = &taking->intake->image;
	AUTO_FREE int *layers = xcalloc(image->layer_count + 1, sizeof(int));
	size_t opened = 0;
	int result = 0;

	for (size_t i = 0; i < taking->part_count && result == 0; i++) {
		int fd = open_part(taking, i, err);

		if (fd < 0)
			result = -1;
		else if (i < image->layer_count)
			layers[opened++] = fd;
		else
			close(fd);
	}
	if (result == 0)
		result = check_space(taking, err);
	if (result == 0)
		result = image_unpack_start(&taking->unpack, image, layers,
					    taking->making.disk_fd,
					    disk_size(image), err);
	for (size_t i = 0; i < opened; i++)
		close(layers[i]);
	if (result == 0)
		tell_ready(taking);
	return result;
}

static int on_image(void *ctx, const struct image *image, const json_t *facts,
		    struct error *err)
{
	struct taking *taking = ctx;
	struct intake *intake = taking->intake;
	const char *hex;

	/* the same from the next place, after a mirror has failed */
	if (taking->parts &&
	    strcmp(image->manifest.digest, intake->image.manifest.digest) == 0)
		return 1;
	if (taking->parts)
		return error_set(err, 0,
				 "a mirror and the registry have "
				 "different images of that name");
	if (take_image(intake, facts, err) < 0)
		return -1;
	hex = digest_name_hex(intake->content);
	taking->content_lock =
		template_store_lock(&taking->content, hex, true, err);
	if (taking->content_lock < 0)
		return -1;
	intake->was_there = faccessat(taking->content.fd, hex, F_OK,
				      AT_SYMLINK_NOFOLLOW) == 0;
	if (intake->was_there)
		return 0;
	taking->build.name = hex;
	text_copy(taking->build.id, sizeof(taking->build.id), intake->content);
	list_parts(taking);
	if (template_store_begin(&taking->making, &taking->content,
				 &taking->build, err) < 0 ||
	    start_unpacking(taking, err) < 0)
		return -1;
	show(taking, true);
	return 1;
}

/* ---- all of it ---- */

static int step(struct taking *taking, const struct image_handlers *handlers,
		struct error *err)
{
	struct pollfd wait[] = {
		{ .fd = taking->process.ended ? -1 : taking->process.talk_fd,
		  .events = POLLIN },
		{ .fd = taking->unpack.running ? taking->unpack.progress_fd
					       : -1,
		  .events = POLLIN },
		{ .fd = taking->unpack.running ? taking->unpack.child.pidfd
					       : -1,
		  .events = POLLIN },
	};

	if (poll(wait, ARRAY_SIZE(wait), -1) < 0)
		return errno == EINTR ? 0 : error_set(err, errno, "poll");
	if (wait[1].revents & POLLIN) {
		image_unpack_listen(&taking->unpack);
		show(taking, false);
	}
	if (wait[2].revents && image_unpack_finish(&taking->unpack, err) < 0)
		return -1;
	if (wait[0].revents)
		return image_process_step(&taking->process, handlers, 0, err);
	return 0;
}

static int take(struct taking *taking, struct error *err)
{
	const struct intake_source *source = taking->source;
	struct image_handlers handlers = { .image = on_image,
					   .blob = on_blob,
					   .done = on_done,
					   .progress = on_progress,
					   .ctx = taking };
	int result = 0;

	handlers.open = source->open;
	handlers.open_ctx = source->open_ctx;
	/* the second time it is read again */
	(void)lseek(source->input, 0, SEEK_SET);
	if (image_process_start(&taking->process, source->argv, source->input,
				err) < 0)
		return -1;
	while (result == 0 &&
	       (!taking->process.ended || taking->unpack.running)) {
		/* it ended too early: it has said why */
		if (taking->process.ended && taking->unpack.running &&
		    taking->told < taking->intake->image.layer_count)
			break;
		result = step(taking, &handlers, err);
	}
	if (result < 0)
		image_process_kill(&taking->process);
	else
		result = image_process_finish(&taking->process, err);
	text_copy(taking->intake->verdict, sizeof(taking->intake->verdict),
		  taking->process.verdict);
	image_unpack_kill(&taking->unpack);
	if (result == 0 && !taking->intake->facts)
		result =
			error_set(err, 0, "%s found no image", source->argv[0]);
	return result;
}

/* The layer that was to blame goes; whether it is worth another try. */
static bool drop_bad_layer(struct taking *taking)
{
	size_t bad = taking->unpack.bad_layer;

	if (bad >= taking->part_count)
		return false;
	(void)blob_store_remove(&taking->blobs, taking->parts[bad].blob.digest,
				NULL);
	return taking->parts[bad].cached;
}

static void release(struct taking *taking)
{
	if (taking->making.store)
		template_store_end(&taking->making);
	release_parts(taking);
	blob_store_close(&taking->blobs);
	template_store_close(&taking->content);
	if (taking->content_lock >= 0)
		close(taking->content_lock);
}

/* 1: again. */
static int try(const struct intake_source *source, enum template_place place,
	       const struct progress *progress, struct intake *intake,
	       struct error *err)
{
	struct taking taking = { .source = source,
				 .progress = progress,
				 .intake = intake,
				 .blobs = BLOB_STORE_INIT,
				 .content = TEMPLATE_STORE_INIT,
				 .content_lock = -1,
				 .unpack = { .bad_layer = SIZE_MAX } };
	int result = -1;

	text_copy(taking.build.source, sizeof(taking.build.source),
		  source->title);
	if (blob_store_open(&taking.blobs, BLOB_STORE_SHARED, err) == 0 &&
	    template_store_open(&taking.content, place, TEMPLATE_STORE_CONTENT,
				err) == 0)
		result = take(&taking, err);
	if (result == 0 && !intake->was_there && !taking.unpack.size_bytes)
		result = error_set(err, 0, "the image did not come whole");
	if (result == 0 && !intake->was_there) {
		taking.build.size_bytes = taking.unpack.size_bytes;
		result = template_store_finish(&taking.making, err);
	}
	if (result < 0 && drop_bad_layer(&taking)) {
		log_debug("%s; fetching it again", err->text);
		result = 1;
	}
	if (result == 0)
		intake->lock = TAKE_FD(taking.content_lock);
	release(&taking);
	return result;
}

/* Three descriptors for each layer are more than some shells allow. */
static void allow_files(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
	    limit.rlim_cur >= FILES_WANTED)
		return;
	limit.rlim_cur =
		limit.rlim_max < FILES_WANTED ? limit.rlim_max : FILES_WANTED;
	if (setrlimit(RLIMIT_NOFILE, &limit) < 0)
		log_debug("descriptors: %s", strerror(errno));
}

int intake_run(const struct intake_source *source, enum template_place place,
	       const struct progress *progress, struct intake *intake,
	       struct error *err)
{
	int result;

	*intake = INTAKE_INIT;
	image_init(&intake->image);
	allow_files();
	progress_step(progress, source->title);
	result = try(source, place, progress, intake, err);
	if (result > 0)
		result = try(source, place, progress, intake, err);
	progress_done(progress);
	return result > 0 ? -1 : result;
}

void intake_release(struct intake *intake)
{
	image_release(&intake->image);
	json_decref(intake->facts);
	if (intake->lock >= 0)
		close(intake->lock);
	*intake = INTAKE_INIT;
}
