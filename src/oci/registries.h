/* SPDX-License-Identifier: Apache-2.0 */
/*
 * registries.h - the file config/registries: mirrors, and what to trust
 *
 *   [docker.io]
 *   mirror = mirror.example.org/hub
 *   mirror = http://localhost:5000
 *   ca = /etc/ssl/corporate.pem
 *
 * A mirror is asked before the registry itself. Plain http is for mirrors on
 * this machine only.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "oci/reference.h"

struct error;

#define REGISTRIES_MIRRORS_MAX 8
#define REGISTRIES_PATH_MAX 1024
#define REGISTRIES_FILE_MAX (64u * 1024)

struct registries_mirror {
	char host[REFERENCE_HOST_MAX];
	char prefix[REFERENCE_REPOSITORY_MAX]; /* "" or "a/b" */
	bool http;                             /* plain http was asked for */
};

struct registries_entry {
	struct registries_mirror mirrors[REGISTRIES_MIRRORS_MAX];
	size_t mirror_count;
	char ca[REGISTRIES_PATH_MAX]; /* "": the system's */
};

/* What the text says about one registry; every line of it is checked. Pure. */
int registries_find(const char *text, const char *host,
		    struct registries_entry *entry, struct error *err);
