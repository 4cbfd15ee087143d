/* SPDX-License-Identifier: Apache-2.0 */
/*
 * template_names.c - which content an image's name means: images/names/
 */
#include "provision/template_names.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "oci/reference.h"
#include "provision/template_store.h"
#include "state/digest.h"

#define FOLDER "images/names"
#define VERSION 1
#define FILE_BYTES (DIGEST_HEX + 8)

AUTO_DEFINE(json, json_t *, json_decref)

void template_name_release(struct template_name *name)
{
	free(name->reference);
	free(name->content);
	free(name->source);
	image_release(&name->image);
	memset(name, 0, sizeof(*name));
}

static void file_of(const char *full, char file[FILE_BYTES])
{
	char hex[DIGEST_HEX];

	digest_bytes(full, strlen(full), hex);
	text_format(file, FILE_BYTES, "%s.json", hex);
}

static char *text_of(const json_t *root, const char *key)
{
	const char *text = json_string_value(json_object_get(root, key));

	return xstrdup(text ? text : "");
}

static int parse(const void *bytes, size_t len, struct template_name *name,
		 struct error *err)
{
	AUTO(json)
	json_t *root =
		len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
		    : NULL;
	const json_t *image = json_object_get(root, "image");
	struct reference unused;

	memset(name, 0, sizeof(*name));
	name->reference = text_of(root, "reference");
	name->content = text_of(root, "content");
	name->source = text_of(root, "source");
	name->created = json_integer_value(json_object_get(root, "created"));
	name->stand_in = json_is_true(json_object_get(root, "stand_in"));
	name->has_image = json_is_object(image);
	if (json_integer_value(json_object_get(root, "version")) == VERSION &&
	    reference_parse(name->reference, &unused, NULL) == 0 &&
	    digest_name_is_valid(name->content) &&
	    (!name->has_image ||
	     image_from_json(image, &name->image, err) == 0))
		return 0;
	template_name_release(name);
	return error_set(err, EBADMSG, "the record of a template is damaged");
}

static int load(int folder, const char *file, struct template_name *name,
		struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(2 * IMAGE_JSON_MAX);

	memset(name, 0, sizeof(*name));
	if (fileio_read(folder, file, &text, err) < 0)
		return -1;
	return parse(text.data, text.len, name, err);
}

int template_name_load(enum paths_kind kind, const struct reference *reference,
		       struct template_name *name, struct error *err)
{
	AUTO_FREE char *path = paths_of(kind, FOLDER, err);
	AUTO_CLOSE int folder =
		path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	char full[REFERENCE_TEXT_MAX], file[FILE_BYTES];

	memset(name, 0, sizeof(*name));
	if (!path)
		return -1;
	if (folder < 0)
		return error_set(err, errno, "%s", path);
	reference_format(reference, full);
	file_of(full, file);
	if (load(folder, file, name, err) < 0)
		return -1;
	/* a file that was renamed by hand */
	if (strcmp(name->reference, full) == 0)
		return 0;
	template_name_release(name);
	return error_set(err, EBADMSG, "%s/%s", path, file);
}

int template_name_save(enum template_place place,
		       const struct template_name *name, struct error *err)
{
	AUTO_TEMPLATE_STORE struct template_store store = TEMPLATE_STORE_INIT;
	AUTO(json) json_t *root = NULL;
	AUTO_FREE char *text = NULL;
	char file[FILE_BYTES];

	if (template_store_open(&store, place, FOLDER, err) < 0)
		return -1;
	root = json_pack("{s:i, s:s, s:s, s:s, s:I, s:b}", "version", VERSION,
			 "reference", name->reference, "content", name->content,
			 "source", name->source, "created",
			 (json_int_t)name->created, "stand_in", name->stand_in);
	if (root && name->has_image)
		json_object_set_new(root, "image", image_to_json(&name->image));
	text = root ? json_dumps(root, JSON_INDENT(1)) : NULL;
	if (!text)
		return error_set(err, 0,
				 "a template's record cannot be written");
	file_of(name->reference, file);
	return fileio_replace(store.fd, file, text, strlen(text),
			      place == TEMPLATE_SYSTEM ? 0644 : 0600,
			      FILEIO_SYNC, err);
}

int template_name_remove(enum template_place place,
			 const struct reference *reference, struct error *err)
{
	AUTO_TEMPLATE_STORE struct template_store store = TEMPLATE_STORE_INIT;
	char full[REFERENCE_TEXT_MAX], file[FILE_BYTES];

	if (template_store_open(&store, place, FOLDER, err) < 0)
		return -1;
	reference_format(reference, full);
	file_of(full, file);
	if (unlinkat(store.fd, file, 0) < 0)
		return error_set(err, errno, "%s", full);
	return fsync(store.fd) < 0 ? error_set(err, errno, "%s", store.path)
				   : 0;
}

struct visit {
	int folder;
	template_name_fn *each;
	void *ctx;
};

static void visit(void *ctx, const char *file)
{
	AUTO_TEMPLATE_NAME struct template_name name = { 0 };
	struct visit *visit = ctx;

	if (text_ends(file, ".json") &&
	    load(visit->folder, file, &name, NULL) == 0)
		visit->each(visit->ctx, &name);
}

void template_name_each(enum paths_kind kind, template_name_fn *each, void *ctx)
{
	AUTO_FREE char *path = paths_of(kind, FOLDER, NULL);
	AUTO_CLOSE int folder =
		path ? open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	struct visit all = { folder, each, ctx };

	if (folder >= 0)
		template_store_each(kind, FOLDER, visit, &all);
}

int template_name_lock(enum template_place place,
		       const struct reference *reference, struct error *err)
{
	AUTO_TEMPLATE_STORE struct template_store store = TEMPLATE_STORE_INIT;
	char full[REFERENCE_TEXT_MAX], hex[DIGEST_HEX];

	if (template_store_open(&store, place, FOLDER, err) < 0)
		return -1;
	reference_format(reference, full);
	digest_bytes(full, strlen(full), hex);
	return template_store_lock(&store, hex, true, err);
}
