/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_path.h - requests for a part of an image, and where they are sent on to
 *
 * Of the OCI distribution API: GET /v2/NAME/blobs/sha256:HEX. A registry may
 * answer with a redirect to a store of its own. What is not exactly of these
 * forms is nothing: a request like any other. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/authority.h"
#include "wire/span.h"

#define BLOB_HEX 65 /* with the NUL */

/* Of a path without its query: the digest, or -1. */
int blob_path_parse(struct span path, char hex[BLOB_HEX]);

/*
 * Is it a request as engines begin a pull with: the API's root, a manifest or
 * a blob? Others have paths below /v2/, too.
 */
bool blob_path_is_pull(struct span path);

struct blob_redirect {
	struct authority host; /* its port is always given */
	struct span target;    /* path and query, in the location */
};

/*
 * A Location over https whose path names the digest, but not at a registry:
 * that one would still have to be asked. -1: anything else, such as the page
 * of a login.
 */
int blob_redirect_parse(struct span location, const char hex[BLOB_HEX],
			struct blob_redirect *out);
