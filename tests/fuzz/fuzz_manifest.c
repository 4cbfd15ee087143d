/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_manifest.c - documents of registries and archives; the first byte says
 * which kind: m(anifest or index), c(onfiguration), i(mage, our own)
 */
#include "base/error.h"
#include "lib/fuzz.h"
#include "oci/manifest.h"

static const struct image_platform amd64 = { "linux", "amd64", "" };

static void try_own(const uint8_t *data, size_t size, struct image *image)
{
	json_t *json = json_loadb((const char *)data, size, 0, NULL);
	struct error err;

	image_release(image);
	if (image_from_json(json, image, &err) == 0)
		json_decref(image_to_json(image));
	json_decref(json);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct image_descriptor layer = { "", "", 0 };
	struct manifest manifest;
	struct image image;
	struct error err;

	if (!size)
		return 0;
	image_init(&image);
	if (*data == 'm' &&
	    manifest_parse(data + 1, size - 1, NULL, &amd64, &manifest, &image,
			   &err) == 0 &&
	    manifest.kind == MANIFEST_IMAGE) {
		FUZZ_CHECK(image.layer_count <= IMAGE_LAYERS_MAX);
		free(manifest_format(&image));
	}
	if (*data == 'c') {
		image_add_layer(&image, &layer, &err);
		manifest_parse_config(data + 1, size - 1, &amd64, &image, &err);
	}
	if (*data == 'i')
		try_own(data + 1, size - 1, &image);
	image_release(&image);
	return 0;
}
