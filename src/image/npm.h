/* SPDX-License-Identifier: Apache-2.0 */
/*
 * npm.h - one package from an npm registry, checked against its SHA-512
 */
#pragma once

#include "image/http.h"
#include "image/npm_manifest.h"

struct error;

#define NPM_ORDER_BYTES_MAX ((size_t)64 * 1024)
#define NPM_TARBALL_MAX (2ull << 30)

struct npm_order {
	char registry[NPM_URL_MAX]; /* ends in no "/" */
	char package[NPM_NAME_MAX + 1];
	char version[NPM_VERSION_MAX];
	/* after the version that the first question found; or "" */
	char suffix[NPM_VERSION_MAX];
	char ca[1024]; /* certificates beside the system's; or "" */
};

typedef void npm_progress_fn(uint64_t bytes);

/* Pure: {"registry", "package", "version", "suffix"?, "ca"?}. */
int npm_order_parse(const void *bytes, size_t len, struct npm_order *order,
		    struct error *err);
/* The tarball is written to out, an empty file. */
int npm_fetch(const struct npm_order *order, struct http *http, int out,
	      npm_progress_fn *progress, struct npm_manifest *manifest,
	      struct error *err);
