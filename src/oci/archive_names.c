/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_names.c - what an archive of images says that it holds
 */
#include "oci/archive_names.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "oci/manifest.h"

#define FULL_NAME "io.containerd.image.name"
#define REF_NAME "org.opencontainers.image.ref.name"

AUTO_DEFINE(json, json_t *, json_decref)

static void free_list(char **list)
{
	for (size_t i = 0; list && list[i]; i++)
		free(list[i]);
	free(list);
}

void archive_names_release(struct archive_names *found)
{
	free_list(found->names);
	free_list(found->layers);
	free(found->config);
	memset(found, 0, sizeof(*found));
}

static int no_such(const struct archive_names *found, size_t number,
		   struct error *err)
{
	if (!found->count)
		return error_set(err, 0,
				 "the archive holds no image for this machine");
	return error_set(err, 0, "the archive holds %zu images, not %zu",
			 found->count, number + 1);
}

static void take_annotation(const json_t *entry, struct archive_names *found)
{
	const json_t *notes = json_object_get(entry, "annotations");
	const char *name = json_string_value(json_object_get(notes, FULL_NAME));

	if (!name)
		name = json_string_value(json_object_get(notes, REF_NAME));
	found->names = xcalloc(2, sizeof(char *));
	if (name)
		found->names[0] = xstrdup(name);
}

int archive_names_oci(const void *bytes, size_t len, size_t number,
		      const struct image_platform *platform,
		      struct archive_names *found, struct error *err)
{
	AUTO(json)
	json_t *json =
		len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
		    : NULL;
	const json_t *entries = json_object_get(json, "manifests");

	memset(found, 0, sizeof(*found));
	if (!json_is_array(entries) ||
	    json_array_size(entries) > MANIFEST_CHOICES_MAX)
		return error_set(err, 0, "index.json is no list of images");
	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);

		if (!manifest_entry_fits(entry, platform) ||
		    found->count++ != number)
			continue;
		take_annotation(entry, found);
		if (image_descriptor_from_json(entry, &found->manifest, err) <
		    0)
			return error_prefix(err, "index.json");
	}
	return number < found->count ? 0 : no_such(found, number, err);
}

static int take_docker(const json_t *entry, struct archive_names *found,
		       struct error *err)
{
	const char *config =
		json_string_value(json_object_get(entry, "Config"));
	const json_t *tags = json_object_get(entry, "RepoTags");

	if (!config)
		return error_set(err, 0, "an image has no configuration");
	found->config = xstrdup(config);
	if (json_array_size(tags) > ARCHIVE_NAMES_MAX)
		return error_set(err, 0, "an image has too many names");
	if (image_words_from_json(tags, "\"RepoTags\"", &found->names, err) <
		    0 ||
	    image_words_from_json(json_object_get(entry, "Layers"),
				  "\"Layers\"", &found->layers, err) < 0)
		return -1;
	return 0;
}

int archive_names_docker(const void *bytes, size_t len, size_t number,
			 struct archive_names *found, struct error *err)
{
	AUTO(json)
	json_t *json =
		len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, NULL)
		    : NULL;

	memset(found, 0, sizeof(*found));
	if (!json_is_array(json) || json_array_size(json) > ARCHIVE_IMAGES_MAX)
		return error_set(err, 0, "manifest.json is no list of images");
	found->count = json_array_size(json);
	if (number >= found->count)
		return no_such(found, number, err);
	return take_docker(json_array_get(json, number), found, err) < 0
		       ? error_prefix(err, "manifest.json")
		       : 0;
}
