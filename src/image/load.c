/* SPDX-License-Identifier: Apache-2.0 */
/*
 * load.c - an image from an archive
 *
 * What an OCI layout names by digest is checked against it. `docker save` and
 * plain tars name nothing: digests are computed first, then all goes the same
 * way, as if it had come from a registry.
 */
#include "image/load.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "image/archive_index.h"
#include "image/blob_file.h"
#include "image/hash.h"
#include "image/talk.h"
#include "oci/archive_names.h"
#include "oci/manifest.h"
#include "tar/tar_path.h"

#define CHUNK (256u * 1024)
#define INDEX_DEPTH_MAX 3
#define GZIP "\x1f\x8b"
#define ZSTD "\x28\xb5\x2f\xfd"

AUTO_DEFINE(json, json_t *, json_decref)

struct load {
	enum load_from from;
	struct archive_index *index; /* owned; of a tar */
	struct archive_names names;
	struct image image;
	struct image_platform platform;
	/* documents that are not in the archive, or were read from it */
	struct buffer manifest, config;
	/* where each layer is; of a folder: opened when it is its turn */
	struct archive_region *layers; /* owned; or NULL */
};

/* ---- files of the archive ---- */

/* 1 and the region, whose descriptor is *owned where it has to be closed. */
static int find(const struct load *load, const char *path,
		struct archive_region *region, int *owned, struct error *err)
{
	struct stat st;
	int found;

	*owned = -1;
	if (load->from == LOAD_TAR)
		return archive_index_find(load->index, path, region) == 0;
	found = talk_open(path, owned, err);
	if (found <= 0)
		return found;
	if (fstat(*owned, &st) < 0)
		return error_set(err, errno, "%s", path);
	*region = (struct archive_region){ *owned, 0, (uint64_t)st.st_size };
	return 1;
}

static int read_some(const struct archive_region *region, uint64_t at,
		     void *bytes, size_t len, struct error *err)
{
	ssize_t got;

	if (len > region->size - at)
		len = (size_t)(region->size - at);
	got = pread(region->fd, bytes, len, (off_t)(region->offset + at));
	if (got < 0)
		return error_set(err, errno, "reading the archive");
	return got || !len ? (int)got
			   : error_set(err, 0, "the archive is cut off");
}

/* 1, or 0 when it is not there. */
static int read_document(const struct load *load, const char *path,
			 struct buffer *document, struct error *err)
{
	struct archive_region region;
	AUTO_CLOSE int owned = -1;
	AUTO_FREE uint8_t *bytes = NULL;
	int found = find(load, path, &region, &owned, err);

	if (found <= 0)
		return found;
	if (region.size > document->max)
		return error_set(err, 0, "%s is too large", path);
	bytes = xmalloc(region.size + 1);
	buffer_consume(document, document->len);
	while (document->len < region.size) {
		int got = read_some(&region, document->len, bytes, CHUNK, err);

		if (got < 0)
			return -1;
		buffer_append(document, bytes, (size_t)got);
	}
	return 1;
}

static void blob_path(const char *digest, char path[192])
{
	text_format(path, 192, "blobs/%s/%s", digest_name_algorithm(digest),
		    digest_name_hex(digest));
}

/* ---- OCI layouts ---- */

static int read_blob(const struct load *load,
		     const struct image_descriptor *blob,
		     struct buffer *document, struct error *err)
{
	char path[192], name[DIGEST_NAME_MAX];
	int found;

	blob_path(blob->digest, path);
	found = read_document(load, path, document, err);
	if (found < 0)
		return -1;
	if (!found)
		return error_set(err, 0, "%s is not in the archive", path);
	hash_bytes(document->data, document->len, blob->digest, name);
	if (document->len != blob->size || strcmp(name, blob->digest) != 0)
		return error_set(err, 0, "%s is not what its name says", path);
	return 0;
}

static int read_oci(struct load *load, size_t number, struct error *err)
{
	struct image_descriptor wanted;
	struct manifest manifest;

	if (archive_names_oci(load->manifest.data, load->manifest.len, number,
			      &load->platform, &load->names, err) < 0)
		return -1;
	wanted = load->names.manifest;
	for (unsigned depth = 0; depth < INDEX_DEPTH_MAX; depth++) {
		if (read_blob(load, &wanted, &load->manifest, err) < 0 ||
		    manifest_parse(
			    load->manifest.data, load->manifest.len,
			    wanted.media_type[0] ? wanted.media_type : NULL,
			    &load->platform, &manifest, &load->image, err) < 0)
			return -1;
		if (manifest.kind == MANIFEST_IMAGE) {
			load->image.manifest = wanted;
			text_copy(load->image.manifest.media_type,
				  IMAGE_MEDIA_TYPE_MAX, manifest.media_type);
			return read_blob(load, &load->image.config,
					 &load->config, err);
		}
		wanted = manifest.chosen;
	}
	return error_set(err, 0, "an index leads to an index, and so on");
}

/* ---- what names nothing by digest ---- */

static const char *packed_as(const uint8_t *bytes, size_t len)
{
	if (len >= 2 && memcmp(bytes, GZIP, 2) == 0)
		return MANIFEST_OCI_LAYER "+gzip";
	if (len >= 4 && memcmp(bytes, ZSTD, 4) == 0)
		return MANIFEST_OCI_LAYER "+zstd";
	return MANIFEST_OCI_LAYER;
}

static int add_layer(struct load *load, const struct archive_region *region,
		     struct error *err)
{
	struct image_descriptor layer = { .size = region->size };
	AUTO_FREE uint8_t *bytes = xmalloc(CHUNK);
	struct hash *hash = hash_new("sha256");
	size_t n = load->image.layer_count;
	int got = 0;

	for (uint64_t at = 0; at < region->size; at += (unsigned)got) {
		got = read_some(region, at, bytes, CHUNK, err);
		if (got < 0)
			break;
		if (at == 0)
			text_copy(layer.media_type, sizeof(layer.media_type),
				  packed_as(bytes, (size_t)got));
		hash_add(hash, bytes, (size_t)got);
	}
	hash_finish(hash, layer.digest);
	hash_free(hash);
	if (!layer.media_type[0])
		text_copy(layer.media_type, sizeof(layer.media_type),
			  MANIFEST_OCI_LAYER);
	if (got < 0 || image_add_layer(&load->image, &layer, err) < 0)
		return -1;
	load->layers = xrealloc(load->layers, (n + 1) * sizeof(*load->layers));
	load->layers[n] = *region;
	return 0;
}

static void write_manifest(struct load *load)
{
	AUTO_FREE char *text = NULL;

	load->image.config.size = load->config.len;
	text_copy(load->image.config.media_type, IMAGE_MEDIA_TYPE_MAX,
		  MANIFEST_OCI_CONFIG);
	hash_bytes(load->config.data, load->config.len, "",
		   load->image.config.digest);
	text = manifest_format(&load->image);
	buffer_consume(&load->manifest, load->manifest.len);
	buffer_append(&load->manifest, text, strlen(text));
	load->image.manifest =
		(struct image_descriptor){ .media_type = MANIFEST_OCI_IMAGE,
					   .size = load->manifest.len };
	hash_bytes(load->manifest.data, load->manifest.len, "",
		   load->image.manifest.digest);
}

static int path_in(const char *path, char out[TAR_PATH_MAX], struct error *err)
{
	return tar_path_normalise(path, strlen(path), out, err);
}

static int read_docker(struct load *load, size_t number, struct error *err)
{
	char path[TAR_PATH_MAX];
	int found;

	if (archive_names_docker(load->manifest.data, load->manifest.len,
				 number, &load->names, err) < 0 ||
	    path_in(load->names.config, path, err) < 0)
		return -1;
	found = read_document(load, path, &load->config, err);
	if (found <= 0)
		return found < 0 ? -1
				 : error_set(err, 0,
					     "the configuration is not in the "
					     "archive");
	for (size_t i = 0; load->names.layers[i]; i++) {
		struct archive_region region;

		if (path_in(load->names.layers[i], path, err) < 0)
			return -1;
		if (archive_index_find(load->index, path, &region) < 0)
			return error_set(err, 0,
					 "layer %zu is not in the archive",
					 i + 1);
		if (add_layer(load, &region, err) < 0)
			return -1;
	}
	write_manifest(load);
	return 0;
}

/* Our own order for a disk; it is checked with the whole configuration. */
static json_t *begin_config(const struct load *load, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(IMAGE_JSON_MAX);
	AUTO_CLOSE int fd = -1;
	json_t *config;
	int got;

	if (load->from != LOAD_DISK)
		return json_pack("{s:{}}", "config");
	got = talk_open(LOAD_CONFIG, &fd, err);
	if (got == 0)
		error_set(err, 0, "there is no order");
	if (got <= 0 || fileio_read_fd(fd, &text, err) < 0)
		return NULL;
	config = text.len ? json_loadb((const char *)text.data, text.len,
				       JSON_REJECT_DUPLICATES, NULL)
			  : NULL;
	if (!config)
		error_set(err, 0, "the order is malformed");
	return config;
}

/* A plain tar says nothing but what it is; how it is run an order may say. */
static int write_config(struct load *load, struct error *err)
{
	AUTO(json) json_t *config = begin_config(load, err);
	AUTO(json)
	json_t *facts = json_pack("{s:s, s:s, s:{s:s, s:[s]}}", "architecture",
				  load->platform.architecture, "os",
				  load->platform.os, "rootfs", "type", "layers",
				  "diff_ids", load->image.layers[0].digest);
	AUTO_FREE char *text = NULL;

	if (!config)
		return -1;
	if (facts && json_object_update(config, facts) == 0)
		text = json_dumps(config, JSON_COMPACT);
	if (!text)
		return error_set(err, ENOMEM, "configuration");
	return buffer_append(&load->config, text, strlen(text)) < 0
		       ? error_set(err, E2BIG, "configuration")
		       : 0;
}

static int read_plain(struct load *load, struct error *err)
{
	struct archive_region whole = { .fd = STDIN_FILENO };
	struct stat st;

	if (fstat(STDIN_FILENO, &st) < 0 || !S_ISREG(st.st_mode))
		return error_set(err, errno, "the archive is no file");
	whole.size = (uint64_t)st.st_size;
	if (add_layer(load, &whole, err) < 0)
		return -1;
	load->names.count = 1;
	load->names.names = xcalloc(1, sizeof(char *));
	if (write_config(load, err) < 0)
		return -1;
	write_manifest(load);
	return 0;
}

static int read_all(struct load *load, size_t number, struct error *err)
{
	int found;

	if (load->from == LOAD_DISK)
		return read_plain(load, err);
	found = read_document(load, "index.json", &load->manifest, err);
	if (found < 0)
		return -1;
	if (found)
		return read_oci(load, number, err);
	if (load->from == LOAD_FOLDER)
		return error_set(err, 0,
				 "the folder is no OCI layout: it has no "
				 "index.json");
	found = read_document(load, "manifest.json", &load->manifest, err);
	if (found < 0)
		return -1;
	/* a root file system may have a file of that name: it is no list */
	if (found && load->manifest.len && load->manifest.data[0] == '[')
		return read_docker(load, number, err);
	return read_plain(load, err);
}

/* ---- into the store ---- */

static int put(const struct image_descriptor *blob,
	       const struct archive_region *region, const struct buffer *bytes,
	       struct error *err)
{
	AUTO_FREE uint8_t *chunk = xmalloc(CHUNK);
	struct blob_file file = { .hash = NULL };
	AUTO_CLOSE int fd = -1;
	int result = talk_blob(blob, &fd, err);

	if (result <= 0)
		return result;
	result = blob_file_init(&file, fd, blob, err);
	if (result == 0)
		result = blob_file_reset(&file, err);
	if (result == 0 && bytes)
		result = blob_file_append(&file, bytes->data, bytes->len, err);
	while (result == 0 && region && file.have < region->size) {
		int got = read_some(region, file.have, chunk, CHUNK, err);

		result = got < 0 ? -1
				 : blob_file_append(&file, chunk, (size_t)got,
						    err);
	}
	if (result == 0)
		result = blob_file_check(&file, err);
	blob_file_release(&file);
	return result ? -1 : talk_done(blob->digest, err);
}

static int put_layer(const struct load *load, size_t number, struct error *err)
{
	const struct image_descriptor *layer = &load->image.layers[number];
	struct archive_region region;
	AUTO_CLOSE int owned = -1;
	char path[192];
	int found;

	for (size_t i = 0; i < number; i++)
		if (strcmp(load->image.layers[i].digest, layer->digest) == 0)
			return 0;
	if (load->layers)
		return put(layer, &load->layers[number], NULL, err);
	blob_path(layer->digest, path);
	found = find(load, path, &region, &owned, err);
	if (found < 0)
		return -1;
	if (!found)
		return error_set(err, 0, "%s is not in the archive", path);
	return put(layer, &region, NULL, err);
}

static int put_all(const struct load *load, struct error *err)
{
	json_t *names = json_array(), *facts;
	int go;

	for (size_t i = 0; load->names.names[i]; i++)
		json_array_append_new(names, json_string(load->names.names[i]));
	facts = json_pack("{s:o, s:I}", "names", names, "count",
			  (json_int_t)load->names.count);
	go = talk_image(&load->image, facts, err);
	json_decref(facts);
	if (go <= 0)
		return go;
	if (put(&load->image.manifest, NULL, &load->manifest, err) < 0 ||
	    put(&load->image.config, NULL, &load->config, err) < 0)
		return -1;
	for (size_t i = 0; i < load->image.layer_count; i++)
		if (put_layer(load, i, err) < 0)
			return error_prefix(err, "layer %zu", i + 1);
	return 0;
}

int load_image(enum load_from from, size_t number,
	       const struct image_platform *platform, struct error *err)
{
	struct load load = { .from = from, .platform = *platform };
	int result;

	image_init(&load.image);
	buffer_init(&load.manifest, MANIFEST_MAX);
	buffer_init(&load.config, MANIFEST_CONFIG_MAX);
	if (from == LOAD_TAR)
		load.index = archive_index_new(STDIN_FILENO);
	result = read_all(&load, number, err);
	if (result == 0)
		result =
			manifest_parse_config(load.config.data, load.config.len,
					      &load.platform, &load.image, err);
	if (result == 0)
		result = put_all(&load, err);
	if (result < 0)
		talk_failed("failed");
	archive_index_free(load.index);
	archive_names_release(&load.names);
	image_release(&load.image);
	buffer_release(&load.manifest);
	buffer_release(&load.config);
	free(load.layers);
	return result;
}
