/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.h - the documents of a registry: index, manifest, configuration
 *
 * Written by strangers. Both families of media types (OCI and Docker) are
 * understood; what could be read as two kinds of document is refused.
 */
#pragma once

#include <stddef.h>

#include "oci/image.h"

struct error;

#define MANIFEST_MAX (4u << 20) /* what registries must accept at most */
#define MANIFEST_CONFIG_MAX (8u << 20)
#define MANIFEST_CHOICES_MAX 512

/* For the Accept header: all that manifest_parse() understands. */
extern const char *const manifest_accept[];

enum manifest_kind {
	MANIFEST_IMAGE, /* layers and a configuration */
	MANIFEST_INDEX, /* a choice between platforms */
};

enum manifest_packing {
	MANIFEST_PLAIN,
	MANIFEST_GZIP,
	MANIFEST_ZSTD,
	MANIFEST_UNKNOWN,
};

struct manifest {
	enum manifest_kind kind;
	char media_type[IMAGE_MEDIA_TYPE_MAX];
	/* an index: which one of its entries was chosen */
	struct image_descriptor chosen;
};

/*
 * media_type is what the sender called it, or NULL. A manifest fills config and
 * layers of image (image_init() it before); an index fills chosen with the
 * entry for the platform, and an error lists the platforms that there are.
 */
int manifest_parse(const void *bytes, size_t len, const char *media_type,
		   const struct image_platform *platform,
		   struct manifest *manifest, struct image *image,
		   struct error *err);
/*
 * The configuration of an image whose layers are known: fills diff_ids,
 * platform and run. One that does not fit the platform is an error.
 */
int manifest_parse_config(const void *bytes, size_t len,
			  const struct image_platform *platform,
			  struct image *image, struct error *err);
/* An entry of an index that is an image for the platform, or does not say. */
bool manifest_entry_fits(const json_t *entry,
			 const struct image_platform *platform);
enum manifest_packing manifest_packing_of(const char *media_type);
/* The platform that this machine's guests have. */
void manifest_host_platform(struct image_platform *platform);

/* Writes the manifest of an image whose descriptors are known; malloc'd. */
char *manifest_format(const struct image *image);
#define MANIFEST_OCI_IMAGE "application/vnd.oci.image.manifest.v1+json"
#define MANIFEST_OCI_INDEX "application/vnd.oci.image.index.v1+json"
#define MANIFEST_OCI_CONFIG "application/vnd.oci.image.config.v1+json"
#define MANIFEST_OCI_LAYER "application/vnd.oci.image.layer.v1.tar"
