/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.c - one image: what it consists of, and how it wants to be run
 */
#include "oci/image.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define WORDS_BYTES_MAX (256u * 1024)

static void free_words(char **words)
{
	for (size_t i = 0; words && words[i]; i++)
		free(words[i]);
	free(words);
}

static char **no_words(void)
{
	return xcalloc(1, sizeof(char *));
}

void image_run_init(struct image_run *run)
{
	*run = (struct image_run){ no_words(), no_words(), no_words(),
				   xstrdup(""), xstrdup("") };
}

void image_run_release(struct image_run *run)
{
	free_words(run->entrypoint);
	free_words(run->command);
	free_words(run->env);
	free(run->folder);
	free(run->user);
	*run = (struct image_run){ 0 };
}

static char **copy_words(char *const *words)
{
	size_t n = 0;
	char **copy;

	while (words[n])
		n++;
	copy = xcalloc(n + 1, sizeof(char *));
	for (size_t i = 0; i < n; i++)
		copy[i] = xstrdup(words[i]);
	return copy;
}

void image_run_copy(struct image_run *to, const struct image_run *from)
{
	*to = (struct image_run){ copy_words(from->entrypoint),
				  copy_words(from->command),
				  copy_words(from->env), xstrdup(from->folder),
				  xstrdup(from->user) };
}

void image_init(struct image *image)
{
	memset(image, 0, sizeof(*image));
	image_run_init(&image->run);
}

void image_release(struct image *image)
{
	free(image->layers);
	free(image->diff_ids);
	image_run_release(&image->run);
	memset(image, 0, sizeof(*image));
}

int image_add_layer(struct image *image,
		    const struct image_descriptor *descriptor,
		    struct error *err)
{
	size_t n = image->layer_count;

	if (n == IMAGE_LAYERS_MAX)
		return error_set(err, 0, "it has more than %d layers",
				 IMAGE_LAYERS_MAX);
	image->layers =
		xrealloc(image->layers, (n + 1) * sizeof(*image->layers));
	image->diff_ids =
		xrealloc(image->diff_ids, (n + 1) * sizeof(*image->diff_ids));
	image->layers[n] = *descriptor;
	image->diff_ids[n][0] = '\0';
	image->layer_count++;
	return 0;
}

uint64_t image_stored_bytes(const struct image *image)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < image->layer_count; i++)
		sum += image->layers[i].size;
	return sum;
}

/* ---- to JSON ---- */

static json_t *descriptor_to_json(const struct image_descriptor *descriptor)
{
	return json_pack("{s:s, s:s, s:I}", "mediaType", descriptor->media_type,
			 "digest", descriptor->digest, "size",
			 (json_int_t)descriptor->size);
}

static json_t *words_to_json(char *const *words)
{
	json_t *list = json_array();

	for (size_t i = 0; words[i]; i++)
		json_array_append_new(list, json_string(words[i]));
	return list;
}

json_t *image_run_to_json(const struct image_run *run)
{
	return json_pack("{s:o, s:o, s:o, s:s, s:s}", "Entrypoint",
			 words_to_json(run->entrypoint), "Cmd",
			 words_to_json(run->command), "Env",
			 words_to_json(run->env), "WorkingDir", run->folder,
			 "User", run->user);
}

json_t *image_to_json(const struct image *image)
{
	json_t *layers = json_array(), *diff_ids = json_array();

	for (size_t i = 0; i < image->layer_count; i++) {
		json_array_append_new(layers,
				      descriptor_to_json(&image->layers[i]));
		json_array_append_new(diff_ids,
				      json_string(image->diff_ids[i]));
	}
	return json_pack("{s:o, s:o, s:o, s:o, s:s, s:s, s:s, s:o}", "manifest",
			 descriptor_to_json(&image->manifest), "config",
			 descriptor_to_json(&image->config), "layers", layers,
			 "diff_ids", diff_ids, "os", image->platform.os,
			 "architecture", image->platform.architecture,
			 "variant", image->platform.variant, "run",
			 image_run_to_json(&image->run));
}

/* ---- from JSON ---- */

static int take_text(const json_t *json, const char *key, char *to, size_t size,
		     struct error *err)
{
	const json_t *value = json_object_get(json, key);
	const char *text = json_string_value(value);

	if (!value || json_is_null(value))
		return 0;
	if (!text || text_copy(to, size, text) < 0)
		return error_set(err, 0, "\"%s\" is no short text", key);
	return 0;
}

int image_descriptor_from_json(const json_t *json,
			       struct image_descriptor *descriptor,
			       struct error *err)
{
	const json_t *size = json_object_get(json, "size");
	const char *digest = json_string_value(json_object_get(json, "digest"));

	*descriptor = (struct image_descriptor){ .size = 0 };
	if (take_text(json, "mediaType", descriptor->media_type,
		      sizeof(descriptor->media_type), err) < 0)
		return -1;
	if (!digest || !digest_name_is_valid(digest))
		return error_set(err, 0, "a digest is missing or malformed");
	text_copy(descriptor->digest, sizeof(descriptor->digest), digest);
	if (!json_is_integer(size) || json_integer_value(size) < 0 ||
	    (uint64_t)json_integer_value(size) > IMAGE_LAYER_BYTES_MAX)
		return error_set(err, 0,
				 "%.19s...: its size is missing or "
				 "impossible",
				 digest);
	descriptor->size = (uint64_t)json_integer_value(size);
	return 0;
}

int image_words_from_json(const json_t *json, const char *what, char ***words,
			  struct error *err)
{
	size_t count = json_array_size(json), bytes = 0;
	char **list;

	if (json && !json_is_null(json) && !json_is_array(json))
		return error_set(err, 0, "%s is no list", what);
	if (count > IMAGE_WORDS_MAX)
		return error_set(err, 0, "%s has more than %d entries", what,
				 IMAGE_WORDS_MAX);
	list = xcalloc(count + 1, sizeof(char *));
	for (size_t i = 0; i < count; i++) {
		const char *text = json_string_value(json_array_get(json, i));
		size_t len = text ? strlen(text) : 0;

		bytes += len;
		if (!text || len > IMAGE_TEXT_MAX || bytes > WORDS_BYTES_MAX) {
			free_words(list);
			return error_set(err, 0,
					 "%s has an entry that is no text, or "
					 "too long",
					 what);
		}
		list[i] = xstrdup(text);
	}
	free_words(*words);
	*words = list;
	return 0;
}

static int take_owned(const json_t *json, const char *key, char **to,
		      struct error *err)
{
	AUTO_FREE char *text = xcalloc(1, 4096);

	if (take_text(json, key, text, 4096, err) < 0)
		return -1;
	free(*to);
	*to = xstrdup(text);
	return 0;
}

int image_run_from_json(const json_t *json, struct image_run *run,
			struct error *err)
{
	if (json && !json_is_null(json) && !json_is_object(json))
		return error_set(err, 0, "the run configuration is no object");
	if (image_words_from_json(json_object_get(json, "Entrypoint"),
				  "\"Entrypoint\"", &run->entrypoint,
				  err) < 0 ||
	    image_words_from_json(json_object_get(json, "Cmd"), "\"Cmd\"",
				  &run->command, err) < 0 ||
	    image_words_from_json(json_object_get(json, "Env"), "\"Env\"",
				  &run->env, err) < 0)
		return -1;
	if (take_owned(json, "WorkingDir", &run->folder, err) < 0 ||
	    take_owned(json, "User", &run->user, err) < 0)
		return -1;
	return 0;
}

bool image_diff_id_is_valid(const char *text)
{
	return digest_name_is_valid(text) &&
	       strcmp(digest_name_algorithm(text), "sha256") == 0;
}

static int take_layers(const json_t *json, struct image *image,
		       struct error *err)
{
	const json_t *layers = json_object_get(json, "layers");
	const json_t *diff_ids = json_object_get(json, "diff_ids");

	if (!json_is_array(layers) || !json_is_array(diff_ids) ||
	    json_array_size(layers) != json_array_size(diff_ids))
		return error_set(err, 0, "its layers are not described");
	for (size_t i = 0; i < json_array_size(layers); i++) {
		const char *diff_id =
			json_string_value(json_array_get(diff_ids, i));
		struct image_descriptor layer;

		if (!diff_id || !image_diff_id_is_valid(diff_id))
			return error_set(err, 0, "a diff_id is malformed");
		if (image_descriptor_from_json(json_array_get(layers, i),
					       &layer, err) < 0 ||
		    image_add_layer(image, &layer, err) < 0)
			return -1;
		text_copy(image->diff_ids[i], DIGEST_NAME_MAX, diff_id);
	}
	return 0;
}

int image_from_json(const json_t *json, struct image *image, struct error *err)
{
	image_init(image);
	if (!json_is_object(json))
		return error_set(err, 0, "an image is no object");
	if (image_descriptor_from_json(json_object_get(json, "manifest"),
				       &image->manifest, err) < 0)
		return error_prefix(err, "manifest");
	if (image_descriptor_from_json(json_object_get(json, "config"),
				       &image->config, err) < 0)
		return error_prefix(err, "configuration");
	if (take_layers(json, image, err) < 0 ||
	    take_text(json, "os", image->platform.os,
		      sizeof(image->platform.os), err) < 0 ||
	    take_text(json, "architecture", image->platform.architecture,
		      sizeof(image->platform.architecture), err) < 0 ||
	    take_text(json, "variant", image->platform.variant,
		      sizeof(image->platform.variant), err) < 0)
		return -1;
	return image_run_from_json(json_object_get(json, "run"), &image->run,
				   err);
}
