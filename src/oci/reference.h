/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reference.h - names of images, as people and registries write them
 *
 * "busybox" is docker.io/library/busybox:latest; a first part with a dot, a
 * port, or "localhost" is a registry. Everything here is pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "oci/digest_name.h"

struct error;

#define REFERENCE_HOST_MAX 264       /* a name of DNS, a port, the NUL */
#define REFERENCE_REPOSITORY_MAX 256 /* with the NUL */
#define REFERENCE_TAG_MAX 129
#define REFERENCE_TEXT_MAX                                                   \
	(REFERENCE_HOST_MAX + REFERENCE_REPOSITORY_MAX + REFERENCE_TAG_MAX + \
	 DIGEST_NAME_MAX)
#define REFERENCE_DEFAULT_HOST "docker.io"

struct reference {
	char host[REFERENCE_HOST_MAX]; /* "docker.io", "[::1]:5000" */
	char repository[REFERENCE_REPOSITORY_MAX];
	char tag[REFERENCE_TAG_MAX];  /* "" only when there is a digest */
	char digest[DIGEST_NAME_MAX]; /* "" when none was given */
};

int reference_parse(const char *text, struct reference *reference,
		    struct error *err);
/* The one full spelling: host/repository[:tag][@digest]. */
void reference_format(const struct reference *reference,
		      char text[REFERENCE_TEXT_MAX]);
/* As people write it: without docker.io/ and library/. */
void reference_familiar(const struct reference *reference,
			char text[REFERENCE_TEXT_MAX]);
/* A registry on this machine: it may speak plain http. */
bool reference_is_loopback(const char *host);
/* "host", "host:port", "1.2.3.4:5", "[::1]:5000": what can name a registry. */
bool reference_host_is_valid(const char *host);
