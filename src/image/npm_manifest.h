/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npm_manifest.h - what an npm registry says about one version of a package
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "oci/digest_name.h"

struct error;

#define NPM_MANIFEST_BYTES_MAX ((size_t)1 << 20)
#define NPM_NAME_MAX 214 /* npm's own limit */
#define NPM_VERSION_MAX 128
#define NPM_URL_MAX 2048

struct npm_manifest {
	char version[NPM_VERSION_MAX];
	char tarball[NPM_URL_MAX];    /* printable; no more is checked */
	char digest[DIGEST_NAME_MAX]; /* "sha512:" and hex */
};

/* Pure. Strict where it counts: name must be what was asked for, a version,
 * an address and a SHA-512. */
int npm_manifest_parse(const void *bytes, size_t len, const char *name,
		       struct npm_manifest *manifest, struct error *err);
/* "name" or "@scope/name" of URL-safe characters. */
bool npm_name_is_valid(const char *name);
/* A version, a tag such as "latest", or the end of one ("-linux-x64"). */
bool npm_version_is_valid(const char *version);
