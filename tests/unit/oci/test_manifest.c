/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_manifest.c - index, manifest, configuration, and our own JSON
 */
#include "oci/manifest.h"

#include "base/buffer.h"
#include "base/error.h"
#include "base/own.h"
#include "lib/tap.h"

#define HEX "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define A "\"sha256:" HEX "\""
#define LAYER                                                             \
	"{\"mediaType\":\"application/vnd.oci.image.layer.v1.tar+gzip\"," \
	"\"digest\":" A ",\"size\":5}"
#define CONFIG                                                         \
	"{\"mediaType\":\"application/vnd.oci.image.config.v1+json\"," \
	"\"digest\":" A ",\"size\":7}"
#define MANIFEST "{\"config\":" CONFIG ",\"layers\":[" LAYER "," LAYER "]}"
#define CONFIG_TEXT                                                     \
	"{\"os\":\"linux\",\"architecture\":\"amd64\",\"rootfs\":{"     \
	"\"diff_ids\":[" A "," A "]},\"config\":{\"Env\":[\"A=b\"],"    \
	"\"Entrypoint\":[\"/e\"],\"Cmd\":[\"c\",\"d\"],\"WorkingDir\":" \
	"\"/w\",\"User\":\"1:2\"}}"

static const struct image_platform amd64 = { "linux", "amd64", "" };
static const struct image_platform arm64 = { "linux", "arm64", "v8" };
static struct manifest manifest;
static struct error err;

static int parse(const char *text, const struct image_platform *platform,
		 struct image *image)
{
	image_init(image);
	return manifest_parse(text, strlen(text), NULL, platform, &manifest,
			      image, &err);
}

static bool is_refused(const char *text)
{
	AUTO_IMAGE struct image image;

	return parse(text, &amd64, &image) < 0 && err.text[0];
}

static void a_manifest_and_its_configuration_make_an_image(void)
{
	AUTO_IMAGE struct image image;

	CHECK(parse(MANIFEST, &amd64, &image) == 0);
	CHECK(manifest.kind == MANIFEST_IMAGE);
	CHECK(!strcmp(manifest.media_type, MANIFEST_OCI_IMAGE));
	CHECK(image.layer_count == 2 && image.layers[1].size == 5);
	CHECK(image.config.size == 7);
	CHECK(image_stored_bytes(&image) == 10);
	CHECK(manifest_parse_config(CONFIG_TEXT, strlen(CONFIG_TEXT), &amd64,
				    &image, &err) == 0);
	CHECK(!strcmp(image.diff_ids[1], "sha256:" HEX));
	CHECK(!strcmp(image.run.entrypoint[0], "/e"));
	CHECK(!strcmp(image.run.command[1], "d") && !image.run.command[2]);
	CHECK(!strcmp(image.run.env[0], "A=b"));
	CHECK(!strcmp(image.run.folder, "/w"));
	CHECK(!strcmp(image.run.user, "1:2"));
}

static void the_platform_is_chosen_from_an_index(void)
{
	const char *text =
		"{\"mediaType\":\"application/vnd.oci.image.index.v1+json\","
		"\"manifests\":[{\"digest\":" A ",\"size\":1,\"platform\":{"
		"\"os\":\"unknown\",\"architecture\":\"unknown\"},"
		"\"annotations\":{\"vnd.docker.reference.type\":"
		"\"attestation-manifest\"}},"
		"{\"digest\":" A ",\"size\":2,\"platform\":{\"os\":\"linux\","
		"\"architecture\":\"arm64\",\"variant\":\"v8\"}},"
		"{\"digest\":" A ",\"size\":3,\"platform\":{\"os\":\"linux\","
		"\"architecture\":\"amd64\"}}]}";
	struct image_platform s390 = { "linux", "s390x", "" };
	AUTO_IMAGE struct image image = { 0 };

	CHECK(parse(text, &amd64, &image) == 0);
	CHECK(manifest.kind == MANIFEST_INDEX && manifest.chosen.size == 3);
	image_release(&image);
	CHECK(parse(text, &arm64, &image) == 0 && manifest.chosen.size == 2);
	image_release(&image);
	CHECK(parse(text, &s390, &image) < 0);
	CHECK(strstr(err.text, "linux/s390x") != NULL);
	CHECK(strstr(err.text, "linux/arm64/v8, linux/amd64") != NULL);
	CHECK(!strstr(err.text, "unknown"));
	image_release(&image);
	CHECK(parse("{\"manifests\":[{\"digest\":" A ",\"size\":9}]}", &amd64,
		    &image) == 0);
	CHECK(manifest.chosen.size == 9);
}

static void what_could_be_two_things_is_refused(void)
{
	CHECK(is_refused("{\"manifests\":[],\"layers\":[],\"config\":" CONFIG
			 "}"));
	CHECK(is_refused("{\"mediaType\":\"" MANIFEST_OCI_INDEX
			 "\",\"config\":" CONFIG ",\"layers\":[]}"));
	CHECK(is_refused("{\"mediaType\":\"" MANIFEST_OCI_IMAGE
			 "\",\"manifests\":[]}"));
	CHECK(is_refused("{\"layers\":[],\"layers\":[],\"config\":" CONFIG
			 "}"));
	CHECK(is_refused("{}"));
	CHECK(is_refused("[]"));
	CHECK(is_refused("{\"schemaVersion\":1,\"fsLayers\":[]}"));
	CHECK(strstr(err.text, "2016") != NULL);
}

static void lies_in_a_manifest_are_refused(void)
{
	CHECK(is_refused("{\"config\":{},\"layers\":[]}"));
	CHECK(is_refused("{\"config\":" CONFIG "}"));
	CHECK(is_refused("{\"config\":" CONFIG ",\"layers\":[{}]}"));
	CHECK(is_refused("{\"config\":" CONFIG ",\"layers\":[{\"mediaType\":"
			 "\"text/plain\",\"digest\":" A ",\"size\":1}]}"));
	CHECK(is_refused("{\"config\":" CONFIG ",\"layers\":[{\"mediaType\":"
			 "\"" MANIFEST_OCI_LAYER "\",\"digest\":" A
			 ",\"size\":-1}]}"));
	CHECK(is_refused("{\"config\":" CONFIG ",\"layers\":[{\"mediaType\":"
			 "\"" MANIFEST_OCI_LAYER "\",\"digest\":" A
			 ",\"size\":9000000000000}]}"));
	CHECK(is_refused("{\"config\":" CONFIG ",\"layers\":[{\"mediaType\":"
			 "\"" MANIFEST_OCI_LAYER
			 "\",\"digest\":\"sha256:../../x\",\"size\":1}]}"));
	CHECK(is_refused("{\"config\":{\"digest\":" A
			 ",\"size\":99999999},\"layers\":[]}"));
}

static void too_many_layers_are_refused(void)
{
	AUTO_IMAGE struct image image;
	AUTO_BUFFER struct buffer text = BUFFER_INIT(1 << 20);

	buffer_printf(&text, "{\"config\":" CONFIG ",\"layers\":[");
	for (int i = 0; i <= IMAGE_LAYERS_MAX; i++)
		buffer_printf(&text, "%s" LAYER, i ? "," : "");
	buffer_printf(&text, "]}");
	CHECK(parse(buffer_str(&text), &amd64, &image) < 0);
	CHECK(strstr(err.text, "layers") != NULL);
}

static void a_configuration_must_fit(void)
{
	static const char *const rows[] = {
		"{}",
		"{\"rootfs\":{\"diff_ids\":[" A "]}}",
		"{\"rootfs\":{\"diff_ids\":[" A ",7]}}",
		"{\"rootfs\":{\"diff_ids\":[" A ",\"x\"]}}",
		"{\"os\":\"linux\",\"architecture\":\"arm64\",\"rootfs\":{"
		"\"diff_ids\":[" A "," A "]}}",
		"{\"os\":\"windows\",\"architecture\":\"amd64\",\"rootfs\":{"
		"\"diff_ids\":[" A "," A "]}}",
		"{\"rootfs\":{\"diff_ids\":[" A "," A
		"]},\"config\":{\"Env\":\"x\"}}",
		"{\"rootfs\":{\"diff_ids\":[" A "," A
		"]},\"config\":{\"Cmd\":[1]}}",
		"{\"rootfs\":{\"diff_ids\":[" A "," A
		"]},\"config\":{\"User\":[]}}",
		"{\"rootfs\":{\"diff_ids\":[" A "," A "]},\"config\":7}",
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		AUTO_IMAGE struct image image;

		CHECK(parse(MANIFEST, &amd64, &image) == 0);
		CHECK(manifest_parse_config(rows[i], strlen(rows[i]), &amd64,
					    &image, &err) < 0);
	}
}

static void nulls_in_a_configuration_are_nothing(void)
{
	const char *text = "{\"rootfs\":{\"diff_ids\":[" A "," A
			   "]},\"config\":{\"Env\":null,\"Entrypoint\":null,"
			   "\"WorkingDir\":null}}";
	AUTO_IMAGE struct image image;

	CHECK(parse(MANIFEST, &amd64, &image) == 0);
	CHECK(manifest_parse_config(text, strlen(text), &amd64, &image, &err) ==
	      0);
	CHECK(!image.run.env[0] && !image.run.folder[0]);
}

static void every_cut_is_an_error(void)
{
	for (size_t len = 0; len < strlen(MANIFEST); len++) {
		AUTO_IMAGE struct image image;

		image_init(&image);
		CHECK(manifest_parse(MANIFEST, len, NULL, &amd64, &manifest,
				     &image, &err) < 0);
	}
	for (size_t len = 0; len < strlen(CONFIG_TEXT); len++) {
		AUTO_IMAGE struct image image;

		CHECK(parse(MANIFEST, &amd64, &image) == 0);
		CHECK(manifest_parse_config(CONFIG_TEXT, len, &amd64, &image,
					    &err) < 0);
	}
}

static void an_image_survives_our_own_json(void)
{
	AUTO_IMAGE struct image image, again = { 0 };
	AUTO_FREE char *one = NULL, *two = NULL;
	json_t *json;

	CHECK(parse(MANIFEST, &amd64, &image) == 0);
	CHECK(manifest_parse_config(CONFIG_TEXT, strlen(CONFIG_TEXT), &amd64,
				    &image, &err) == 0);
	image.manifest = image.config;
	json = image_to_json(&image);
	one = json_dumps(json, JSON_SORT_KEYS);
	CHECK(image_from_json(json, &again, &err) == 0);
	json_decref(json);
	json = image_to_json(&again);
	two = json_dumps(json, JSON_SORT_KEYS);
	json_decref(json);
	CHECK(one && two && !strcmp(one, two));
	image_release(&again);
	CHECK(image_from_json(NULL, &again, &err) < 0);
}

static void what_we_write_can_be_read(void)
{
	AUTO_IMAGE struct image image, again = { 0 };
	AUTO_FREE char *text = NULL;

	CHECK(parse(MANIFEST, &amd64, &image) == 0);
	text = manifest_format(&image);
	CHECK(parse(text, &amd64, &again) == 0);
	CHECK(again.layer_count == 2);
	CHECK(!strcmp(again.config.digest, image.config.digest));
}

static void packings_are_known_by_media_type(void)
{
	CHECK(manifest_packing_of(MANIFEST_OCI_LAYER) == MANIFEST_PLAIN);
	CHECK(manifest_packing_of(MANIFEST_OCI_LAYER "+zstd") == MANIFEST_ZSTD);
	CHECK(manifest_packing_of("application/vnd.docker.image.rootfs.diff."
				  "tar.gzip") == MANIFEST_GZIP);
	CHECK(manifest_packing_of("application/vnd.oci.image.layer.v1.tar+gzip+"
				  "encrypted") == MANIFEST_UNKNOWN);
	CHECK(manifest_packing_of("") == MANIFEST_UNKNOWN);
}

int main(void)
{
	RUN(a_manifest_and_its_configuration_make_an_image);
	RUN(the_platform_is_chosen_from_an_index);
	RUN(what_could_be_two_things_is_refused);
	RUN(lies_in_a_manifest_are_refused);
	RUN(too_many_layers_are_refused);
	RUN(a_configuration_must_fit);
	RUN(nulls_in_a_configuration_are_nothing);
	RUN(every_cut_is_an_error);
	RUN(an_image_survives_our_own_json);
	RUN(what_we_write_can_be_read);
	RUN(packings_are_known_by_media_type);
	return DONE();
}
