/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.c - the documents of a registry: index, manifest, configuration
 */
#include "oci/manifest.h"

#include <string.h>
#include <sys/utsname.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"

#define DOCKER_IMAGE "application/vnd.docker.distribution.manifest.v2+json"
#define DOCKER_INDEX "application/vnd.docker.distribution.manifest.list.v2+json"
#define DOCKER_OLD "application/vnd.docker.distribution.manifest.v1"
/* Not an image: a signature or provenance kept beside one. */
#define ATTESTATION "vnd.docker.reference.type"

AUTO_DEFINE(json, json_t *, json_decref)

const char *const manifest_accept[] = {
	MANIFEST_OCI_IMAGE,
	MANIFEST_OCI_INDEX,
	DOCKER_IMAGE,
	DOCKER_INDEX,
	NULL,
};

static const struct {
	const char *media_type;
	enum manifest_packing packing;
} layer_types[] = {
	{ MANIFEST_OCI_LAYER, MANIFEST_PLAIN },
	{ MANIFEST_OCI_LAYER "+gzip", MANIFEST_GZIP },
	{ MANIFEST_OCI_LAYER "+zstd", MANIFEST_ZSTD },
	{ "application/vnd.oci.image.layer.nondistributable.v1.tar",
	  MANIFEST_PLAIN },
	{ "application/vnd.oci.image.layer.nondistributable.v1.tar+gzip",
	  MANIFEST_GZIP },
	{ "application/vnd.oci.image.layer.nondistributable.v1.tar+zstd",
	  MANIFEST_ZSTD },
	{ "application/vnd.docker.image.rootfs.diff.tar", MANIFEST_PLAIN },
	{ "application/vnd.docker.image.rootfs.diff.tar.gzip", MANIFEST_GZIP },
	{ "application/vnd.docker.image.rootfs.diff.tar.zstd", MANIFEST_ZSTD },
	{ "application/vnd.docker.image.rootfs.foreign.diff.tar",
	  MANIFEST_PLAIN },
	{ "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip",
	  MANIFEST_GZIP },
};

enum manifest_packing manifest_packing_of(const char *media_type)
{
	for (size_t i = 0; i < ARRAY_SIZE(layer_types); i++)
		if (strcmp(layer_types[i].media_type, media_type) == 0)
			return layer_types[i].packing;
	return MANIFEST_UNKNOWN;
}

static const struct {
	const char *machine;
	struct image_platform platform;
} machines[] = {
	{ "x86_64", { "linux", "amd64", "" } },
	{ "aarch64", { "linux", "arm64", "v8" } },
};

void manifest_host_platform(struct image_platform *platform)
{
	struct utsname host;

	*platform = machines[0].platform;
	if (uname(&host) < 0)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (strcmp(machines[i].machine, host.machine) == 0)
			*platform = machines[i].platform;
}

static json_t *load(const void *bytes, size_t len, const char *what,
		    struct error *err)
{
	json_error_t bad;
	json_t *json =
		len ? json_loadb(bytes, len, JSON_REJECT_DUPLICATES, &bad)
		    : NULL;

	if (json_is_object(json))
		return json;
	json_decref(json);
	error_set(err, 0, "the %s is no JSON object", what);
	return NULL;
}

/* ---- platforms ---- */

static bool fits(const struct image_platform *has,
		 const struct image_platform *wanted)
{
	/* arm64 and arm64/v8 are the same */
	bool variant = strcmp(has->variant, wanted->variant) == 0 ||
		       !has->variant[0] || !wanted->variant[0];

	return variant && strcmp(has->os, wanted->os) == 0 &&
	       strcmp(has->architecture, wanted->architecture) == 0;
}

static void platform_text(const struct image_platform *platform, char *text,
			  size_t size)
{
	char whole[3 * IMAGE_PLATFORM_MAX];

	text_format(whole, sizeof(whole), "%s/%s%s%s", platform->os,
		    platform->architecture, platform->variant[0] ? "/" : "",
		    platform->variant);
	text_printable(whole, strlen(whole), text, size);
}

static void copy_key(const json_t *json, const char *key, char *to, size_t size)
{
	const char *text = json_string_value(json_object_get(json, key));

	if (!text || text_copy(to, size, text) < 0)
		to[0] = '\0';
}

static void take_platform(const json_t *json, struct image_platform *platform)
{
	copy_key(json, "os", platform->os, sizeof(platform->os));
	copy_key(json, "architecture", platform->architecture,
		 sizeof(platform->architecture));
	copy_key(json, "variant", platform->variant, sizeof(platform->variant));
}

/* ---- an index ---- */

static bool is_attestation(const json_t *entry)
{
	return json_object_get(json_object_get(entry, "annotations"),
			       ATTESTATION) != NULL;
}

bool manifest_entry_fits(const json_t *entry,
			 const struct image_platform *platform)
{
	const json_t *said = json_object_get(entry, "platform");
	struct image_platform has = { "", "", "" };

	take_platform(said, &has);
	return json_is_object(entry) && !is_attestation(entry) &&
	       (!said || fits(&has, platform));
}

static int choose(const json_t *entries, const struct image_platform *wanted,
		  struct image_descriptor *chosen, struct error *err)
{
	char list[200] = "", text[64], asked[64];

	if (json_array_size(entries) > MANIFEST_CHOICES_MAX)
		return error_set(err, 0, "the index has more than %d entries",
				 MANIFEST_CHOICES_MAX);
	for (size_t i = 0; i < json_array_size(entries); i++) {
		const json_t *entry = json_array_get(entries, i);
		const json_t *platform = json_object_get(entry, "platform");
		struct image_platform has = { "", "", "" };
		size_t used = strlen(list);

		if (is_attestation(entry))
			continue;
		take_platform(platform, &has);
		/* an index of one image need not say for what it is */
		if ((!platform && json_array_size(entries) == 1) ||
		    fits(&has, wanted))
			return image_descriptor_from_json(entry, chosen, err);
		platform_text(&has, text, sizeof(text));
		text_format(list + used, sizeof(list) - used, "%s%s",
			    used ? ", " : "", text);
	}
	platform_text(wanted, asked, sizeof(asked));
	return error_set(err, 0, "there is no image for %s (there is: %s)",
			 asked, list[0] ? list : "nothing");
}

/* ---- a manifest ---- */

static int take_layer(const json_t *json, struct image *image,
		      struct error *err)
{
	struct image_descriptor layer;
	char shown[80];

	if (image_descriptor_from_json(json, &layer, err) < 0)
		return -1;
	if (manifest_packing_of(layer.media_type) == MANIFEST_UNKNOWN) {
		text_printable(layer.media_type, strlen(layer.media_type),
			       shown, sizeof(shown));
		return error_set(err, 0, "a layer is of an unknown kind (%s)",
				 shown);
	}
	return image_add_layer(image, &layer, err);
}

static int take_image(const json_t *json, struct image *image,
		      struct error *err)
{
	const json_t *layers = json_object_get(json, "layers");

	if (image_descriptor_from_json(json_object_get(json, "config"),
				       &image->config, err) < 0)
		return error_prefix(err, "its configuration");
	if (image->config.size > MANIFEST_CONFIG_MAX)
		return error_set(err, 0, "its configuration is too large");
	if (!json_is_array(layers))
		return error_set(err, 0, "the manifest has no layers");
	for (size_t i = 0; i < json_array_size(layers); i++)
		if (take_layer(json_array_get(layers, i), image, err) < 0)
			return -1;
	return 0;
}

/* By what it holds; what it is called must not say something else. */
static int find_kind(const json_t *json, const char *called,
		     struct manifest *manifest, struct error *err)
{
	const char *own = json_string_value(json_object_get(json, "mediaType"));
	bool index = json_object_get(json, "manifests") != NULL;
	bool image = json_object_get(json, "layers") != NULL ||
		     json_object_get(json, "config") != NULL;
	const char *type = own ? own : called ? called : "";
	bool says_index = strcmp(type, MANIFEST_OCI_INDEX) == 0 ||
			  strcmp(type, DOCKER_INDEX) == 0;
	bool says_image = strcmp(type, MANIFEST_OCI_IMAGE) == 0 ||
			  strcmp(type, DOCKER_IMAGE) == 0;

	if (text_starts(type, DOCKER_OLD) || json_object_get(json, "fsLayers"))
		return error_set(err, 0,
				 "the image has a format from before 2016, "
				 "which is not supported");
	if (index == image || (says_index && image) || (says_image && index))
		return error_set(err, 0,
				 "the manifest is neither an image nor an "
				 "index of images");
	manifest->kind = index ? MANIFEST_INDEX : MANIFEST_IMAGE;
	if (!says_index && !says_image)
		type = index ? MANIFEST_OCI_INDEX : MANIFEST_OCI_IMAGE;
	text_copy(manifest->media_type, sizeof(manifest->media_type), type);
	return 0;
}

int manifest_parse(const void *bytes, size_t len, const char *media_type,
		   const struct image_platform *platform,
		   struct manifest *manifest, struct image *image,
		   struct error *err)
{
	AUTO(json) json_t *json = NULL;

	*manifest = (struct manifest){ .kind = MANIFEST_IMAGE };
	if (len > MANIFEST_MAX)
		return error_set(err, 0, "the manifest is larger than 4 MiB");
	json = load(bytes, len, "manifest", err);
	if (!json || find_kind(json, media_type, manifest, err) < 0)
		return -1;
	if (manifest->kind == MANIFEST_IMAGE)
		return take_image(json, image, err);
	if (!json_is_array(json_object_get(json, "manifests")))
		return error_set(err, 0, "the index is no list");
	return choose(json_object_get(json, "manifests"), platform,
		      &manifest->chosen, err);
}

/* ---- a configuration ---- */

static int take_diff_ids(const json_t *json, struct image *image,
			 struct error *err)
{
	const json_t *list =
		json_object_get(json_object_get(json, "rootfs"), "diff_ids");

	if (json_array_size(list) != image->layer_count)
		return error_set(err, 0,
				 "the configuration names %zu layers, the "
				 "manifest %zu",
				 json_array_size(list), image->layer_count);
	for (size_t i = 0; i < image->layer_count; i++) {
		const char *text = json_string_value(json_array_get(list, i));

		if (!text || !image_diff_id_is_valid(text))
			return error_set(err, 0, "a diff_id is malformed");
		text_copy(image->diff_ids[i], DIGEST_NAME_MAX, text);
	}
	return 0;
}

int manifest_parse_config(const void *bytes, size_t len,
			  const struct image_platform *platform,
			  struct image *image, struct error *err)
{
	AUTO(json) json_t *json = NULL;
	char has[64], wanted[64];

	if (len > MANIFEST_CONFIG_MAX)
		return error_set(err, 0, "its configuration is too large");
	json = load(bytes, len, "configuration", err);
	if (!json || take_diff_ids(json, image, err) < 0)
		return -1;
	take_platform(json, &image->platform);
	/* one that says nothing was put together by hand: it is for anyone */
	if (image->platform.architecture[0] &&
	    !fits(&image->platform, platform)) {
		platform_text(&image->platform, has, sizeof(has));
		platform_text(platform, wanted, sizeof(wanted));
		return error_set(err, 0, "the image is for %s, not for %s", has,
				 wanted);
	}
	if (image_run_from_json(json_object_get(json, "config"), &image->run,
				err) < 0)
		return error_prefix(err, "its configuration");
	return 0;
}

/* ---- writing ---- */

static json_t *descriptor(const struct image_descriptor *from)
{
	return json_pack("{s:s, s:s, s:I}", "mediaType", from->media_type,
			 "digest", from->digest, "size",
			 (json_int_t)from->size);
}

char *manifest_format(const struct image *image)
{
	AUTO(json) json_t *json = NULL;
	json_t *layers = json_array();

	for (size_t i = 0; i < image->layer_count; i++)
		json_array_append_new(layers, descriptor(&image->layers[i]));
	json = json_pack("{s:i, s:s, s:o, s:o}", "schemaVersion", 2,
			 "mediaType", MANIFEST_OCI_IMAGE, "config",
			 descriptor(&image->config), "layers", layers);
	return json ? json_dumps(json, JSON_COMPACT) : NULL;
}
