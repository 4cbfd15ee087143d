/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h - what bawn-image is to fetch or to push: one JSON object on stdin
 *
 * Written by our own starter; secrets come this way, never by argument or
 * environment.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "image/registry.h"
#include "oci/image.h"
#include "oci/registries.h"

struct error;

#define ORDER_BYTES_MAX (2u << 20)
#define ORDER_PLACES_MAX (REGISTRIES_MIRRORS_MAX + 1)

struct order {
	struct registry_place places[ORDER_PLACES_MAX]; /* tried in turn */
	size_t place_count;
	char tag[REFERENCE_TAG_MAX];
	char digest[DIGEST_NAME_MAX]; /* "": the tag's */
	struct image_platform platform;
	struct registry_settings settings;
	struct image image; /* to push */
};

/* Release it also after a failure. */
int order_parse(const void *bytes, size_t len, struct order *order,
		struct error *err);
void order_release(struct order *order);
