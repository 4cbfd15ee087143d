/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npm_manifest.c - what an npm registry says about one version of a package
 */
#include "image/npm_manifest.h"

#include <jansson.h>
#include <stdint.h>
#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "oci/base64.h"

#define SHA512_BYTES 64

static const char word[] = "abcdefghijklmnopqrstuvwxyz"
			   "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~-";

AUTO_DEFINE(json, json_t *, json_decref)

static bool is_part(const char *text, size_t len)
{
	return len > 0 && text[0] != '.' && strspn(text, word) >= len;
}

bool npm_name_is_valid(const char *name)
{
	const char *slash = strchr(name, '/');

	if (strlen(name) > NPM_NAME_MAX)
		return false;
	if (name[0] != '@')
		return !slash && is_part(name, strlen(name));
	return slash && is_part(name + 1, (size_t)(slash - name - 1)) &&
	       is_part(slash + 1, strlen(slash + 1));
}

bool npm_version_is_valid(const char *version)
{
	size_t len = strlen(version);

	return len > 0 && len < NPM_VERSION_MAX && version[0] != '.' &&
	       strspn(version, word) == len;
}

/* One or more hashes with spaces between them; the strongest is ours. */
static int take_integrity(const char *text, char digest[DIGEST_NAME_MAX])
{
	static const char prefix[] = "sha512-";
	uint8_t bytes[SHA512_BYTES + 3];
	size_t at = strlen("sha512:");

	for (; *text; text += strspn(text, " ")) {
		size_t len = strcspn(text, " ");
		const char *hash = text + strlen(prefix);

		text += len;
		if (len <= strlen(prefix) ||
		    strncmp(hash - strlen(prefix), prefix, strlen(prefix)) != 0)
			continue;
		if (base64_read(hash, len - strlen(prefix), bytes,
				sizeof(bytes)) != SHA512_BYTES)
			return -1;
		text_copy(digest, DIGEST_NAME_MAX, "sha512:");
		for (size_t i = 0; i < SHA512_BYTES; i++, at += 2)
			text_format(digest + at, DIGEST_NAME_MAX - at, "%02x",
				    bytes[i]);
		return 0;
	}
	return -1;
}

static bool is_printable(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~')
			return false;
	return true;
}

int npm_manifest_parse(const void *bytes, size_t len, const char *name,
		       struct npm_manifest *manifest, struct error *err)
{
	AUTO(json)
	json_t *root = len ? json_loadb(bytes, len, 0, NULL) : NULL;
	const char *own_name, *version, *tarball, *integrity;

	memset(manifest, 0, sizeof(*manifest));
	if (json_unpack(root, "{s:s, s:s, s:{s:s, s:s}}", "name", &own_name,
			"version", &version, "dist", "tarball", &tarball,
			"integrity", &integrity) < 0)
		return error_set(err, 0, "it tells no version with a SHA-512");
	if (strcmp(own_name, name) != 0 || !npm_version_is_valid(version))
		return error_set(err, 0, "it tells of another package");
	if (!is_printable(tarball) ||
	    text_copy(manifest->tarball, sizeof(manifest->tarball), tarball) <
		    0)
		return error_set(err, 0, "it tells a wrong address");
	if (take_integrity(integrity, manifest->digest) < 0)
		return error_set(err, 0, "it tells no SHA-512");
	return text_copy(manifest->version, sizeof(manifest->version), version);
}
