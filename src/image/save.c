/* SPDX-License-Identifier: Apache-2.0 */
/*
 * save.c - an image into an archive
 */
#include "image/save.h"

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
#include "image/hash.h"
#include "image/talk.h"
#include "oci/manifest.h"
#include "oci/reference.h"
#include "tar/tar_write.h"

#define CHUNK (256u * 1024)
#define PATH_BYTES 192

AUTO_DEFINE(json, json_t *, json_decref)
AUTO_DEFINE(hash, struct hash *, hash_free)

struct save {
	struct image image;
	struct reference reference;
	char name[REFERENCE_TEXT_MAX]; /* as people write it */
};

struct save *save_read_order(struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(2 * IMAGE_JSON_MAX);
	AUTO(json) json_t *json = NULL;
	struct save *save;
	const char *name;

	if (fileio_read_fd(STDIN_FILENO, &text, err) < 0)
		return NULL;
	json = text.len ? json_loadb((const char *)text.data, text.len, 0, NULL)
			: NULL;
	name = json_string_value(json_object_get(json, "name"));
	save = xcalloc(1, sizeof(*save));
	if (name && reference_parse(name, &save->reference, err) == 0 &&
	    image_from_json(json_object_get(json, "image"), &save->image,
			    err) == 0) {
		reference_familiar(&save->reference, save->name);
		return save;
	}
	save_free(save);
	error_set(err, 0, "the order is malformed");
	return NULL;
}

void save_free(struct save *save)
{
	if (!save)
		return;
	image_release(&save->image);
	free(save);
}

/* ---- entries ---- */

static int put_head(const char *path, uint64_t size, struct error *err)
{
	AUTO_BUFFER struct buffer head = BUFFER_INIT(8 * TAR_BLOCK);
	struct tar_entry entry = { .path = path,
				   .mode = S_IFREG | 0644,
				   .size = size };

	if (tar_write_entry(&entry, &head) < 0)
		return error_set(err, 0, "%s: too long", path);
	return fileio_write_all(STDOUT_FILENO, head.data, head.len, err);
}

static int put_padding(uint64_t size, struct error *err)
{
	static const char zeroes[TAR_BLOCK];

	return fileio_write_all(STDOUT_FILENO, zeroes, tar_padding(size), err);
}

/* Takes the reference of json. */
static int put_json(const char *path, json_t *json, struct error *err)
{
	AUTO(json) json_t *owned = json;
	AUTO_FREE char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;

	if (!text)
		return error_set(err, 0, "%s cannot be written", path);
	if (put_head(path, strlen(text), err) < 0 ||
	    fileio_write_all(STDOUT_FILENO, text, strlen(text), err) < 0)
		return -1;
	return put_padding(strlen(text), err);
}

static void path_of(const char *digest, char path[PATH_BYTES])
{
	text_format(path, PATH_BYTES, "blobs/%s/%s",
		    digest_name_algorithm(digest), digest_name_hex(digest));
}

static int copy_blob(int fd, const struct image_descriptor *blob,
		     struct error *err)
{
	AUTO(hash)
	struct hash *hash = hash_new(digest_name_algorithm(blob->digest));
	AUTO_FREE uint8_t *bytes = xmalloc(CHUNK);
	char name[DIGEST_NAME_MAX];

	for (uint64_t at = 0; at < blob->size;) {
		size_t want = blob->size - at < CHUNK
				      ? (size_t)(blob->size - at)
				      : CHUNK;
		ssize_t got = pread(fd, bytes, want, (off_t)at);

		if (got <= 0)
			return error_set(err, errno, "%.19s...", blob->digest);
		hash_add(hash, bytes, (size_t)got);
		if (fileio_write_all(STDOUT_FILENO, bytes, (size_t)got, err) <
		    0)
			return -1;
		at += (uint64_t)got;
	}
	hash_finish(hash, name);
	return strcmp(name, blob->digest) == 0
		       ? 0
		       : error_set(err, 0, "%.19s... is damaged in the cache",
				   blob->digest);
}

static int put_blob(const struct image_descriptor *blob, struct error *err)
{
	AUTO_CLOSE int fd = -1;
	char path[PATH_BYTES];
	int got = talk_blob(blob, &fd, err);

	if (got <= 0)
		return got < 0 ? -1
			       : error_set(err, 0, "%.19s... is not there",
					   blob->digest);
	path_of(blob->digest, path);
	if (put_head(path, blob->size, err) < 0 ||
	    copy_blob(fd, blob, err) < 0 || put_padding(blob->size, err) < 0)
		return -1;
	return talk_done(blob->digest, err);
}

/* ---- documents ---- */

static json_t *index_of(const struct save *save)
{
	const struct image_descriptor *manifest = &save->image.manifest;
	char full[REFERENCE_TEXT_MAX];

	reference_format(&save->reference, full);
	return json_pack(
		"{s:i, s:s, s:[{s:s, s:s, s:I, s:{s:s, s:s}}]}",
		"schemaVersion", 2, "mediaType", MANIFEST_OCI_INDEX,
		"manifests", "mediaType", manifest->media_type, "digest",
		manifest->digest, "size", (json_int_t)manifest->size,
		"annotations", "io.containerd.image.name", full,
		"org.opencontainers.image.ref.name", save->reference.tag);
}

static json_t *docker_list_of(const struct save *save)
{
	json_t *layers = json_array();
	char path[PATH_BYTES];

	for (size_t i = 0; i < save->image.layer_count; i++) {
		path_of(save->image.layers[i].digest, path);
		json_array_append_new(layers, json_string(path));
	}
	path_of(save->image.config.digest, path);
	return json_pack("[{s:s, s:[s], s:o}]", "Config", path, "RepoTags",
			 save->name, "Layers", layers);
}

static int put_layers(const struct image *image, struct error *err)
{
	for (size_t i = 0; i < image->layer_count; i++) {
		bool repeated = false;

		for (size_t j = 0; j < i; j++)
			repeated |= strcmp(image->layers[i].digest,
					   image->layers[j].digest) == 0;
		if (!repeated && put_blob(&image->layers[i], err) < 0)
			return -1;
	}
	return 0;
}

int save_write(struct save *save, struct error *err)
{
	AUTO_BUFFER struct buffer end = BUFFER_INIT(2 * TAR_BLOCK);
	int result = 0;

	if (put_json("oci-layout",
		     json_pack("{s:s}", "imageLayoutVersion", "1.0.0"),
		     err) < 0 ||
	    put_json("index.json", index_of(save), err) < 0 ||
	    put_json("manifest.json", docker_list_of(save), err) < 0 ||
	    put_blob(&save->image.manifest, err) < 0 ||
	    put_blob(&save->image.config, err) < 0 ||
	    put_layers(&save->image, err) < 0)
		result = -1;
	if (result == 0 && tar_write_end(&end) == 0)
		result =
			fileio_write_all(STDOUT_FILENO, end.data, end.len, err);
	if (result < 0)
		talk_failed("failed");
	return result;
}
