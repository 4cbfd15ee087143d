/* SPDX-License-Identifier: Apache-2.0 */
/*
 * archive_names.h - what an archive of images says that it holds
 *
 * index.json of an OCI layout, manifest.json of `docker save`. Both may name
 * several images; one is taken at a time, by its number.
 */
#pragma once

#include <stddef.h>

#include "oci/image.h"

struct error;

#define ARCHIVE_NAMES_MAX 64
#define ARCHIVE_IMAGES_MAX 256

struct archive_names {
	size_t count; /* of images in the archive */
	/* what the chosen one is called; owned, NULL-terminated */
	char **names;
	/* of an OCI layout: its manifest, or an index of them */
	struct image_descriptor manifest;
	/* of `docker save`: paths in the archive; owned */
	char *config;
	char **layers;
};

/* Release it also after a failure. Pure. */
int archive_names_oci(const void *bytes, size_t len, size_t number,
		      const struct image_platform *platform,
		      struct archive_names *found, struct error *err);
int archive_names_docker(const void *bytes, size_t len, size_t number,
			 struct archive_names *found, struct error *err);
void archive_names_release(struct archive_names *found);
