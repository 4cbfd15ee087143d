/* SPDX-License-Identifier: Apache-2.0 */
/*
 * image.h - one image: what it consists of, and how it wants to be run
 *
 * Put together from a manifest and a configuration, which registries and
 * archives write; as JSON of our own it goes from bawn-image to its starter
 * and lies in a template's record. Whoever reads it checks it again.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "oci/digest_name.h"

struct error;

#define IMAGE_LAYERS_MAX 256
#define IMAGE_MEDIA_TYPE_MAX 128
#define IMAGE_PLATFORM_MAX 32
#define IMAGE_WORDS_MAX 1024          /* variables, or words of a command */
#define IMAGE_TEXT_MAX (64u * 1024)   /* one of them */
#define IMAGE_JSON_MAX (1024u * 1024) /* a whole image as our own JSON */
#define IMAGE_LAYER_BYTES_MAX (1ull << 40)

struct image_descriptor {
	char media_type[IMAGE_MEDIA_TYPE_MAX];
	char digest[DIGEST_NAME_MAX];
	uint64_t size;
};

struct image_platform {
	char os[IMAGE_PLATFORM_MAX];
	char architecture[IMAGE_PLATFORM_MAX];
	char variant[IMAGE_PLATFORM_MAX]; /* "" when none is said */
};

/* Lists are NULL-terminated and never NULL themselves. */
struct image_run {
	char **entrypoint, **command, **env; /* owned */
	char *folder, *user;                 /* owned; "" when not said */
};

struct image {
	struct image_descriptor manifest, config;
	struct image_descriptor *layers;   /* owned; lowest first */
	char (*diff_ids)[DIGEST_NAME_MAX]; /* owned; of the same layers */
	size_t layer_count;
	struct image_platform platform;
	struct image_run run;
};

void image_init(struct image *image);
void image_release(struct image *image);
#define AUTO_IMAGE __attribute__((cleanup(image_release)))

void image_run_init(struct image_run *run);
void image_run_release(struct image_run *run);
void image_run_copy(struct image_run *to, const struct image_run *from);

/* NULL when out of memory or a text is no UTF-8. */
json_t *image_to_json(const struct image *image);
/* Release the image also after a failure. */
int image_from_json(const json_t *json, struct image *image, struct error *err);
json_t *image_run_to_json(const struct image_run *run);
/* The keys of image_run_to_json(), all of them optional. */
int image_run_from_json(const json_t *json, struct image_run *run,
			struct error *err);

/* For those who take documents apart. */
int image_descriptor_from_json(const json_t *json,
			       struct image_descriptor *descriptor,
			       struct error *err);
/* Copies a list of texts; null is an empty one. what is for the error. */
int image_words_from_json(const json_t *json, const char *what, char ***words,
			  struct error *err);
/* Of an unpacked layer: nobody names these by anything but SHA-256. */
bool image_diff_id_is_valid(const char *text);
/* Grows both lists of layers by one. -1 when there are too many. */
int image_add_layer(struct image *image,
		    const struct image_descriptor *descriptor,
		    struct error *err);
/* Bytes of all layers as they are stored. */
uint64_t image_stored_bytes(const struct image *image);
