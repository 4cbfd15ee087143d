/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url_path.h - one spelling for each path, for rules that name paths
 *
 * A rule about a path decides only when we and every server behind us read the
 * path alike. So what servers are known to read differently has no spelling at
 * all: dot segments, plain or encoded (clients resolve them before they send),
 * an encoded slash, a backslash, control bytes, `;` parameters, broken or
 * doubled percent-encoding, what is not UTF-8. Such a path matches no rule that
 * allows and must be taken to match every rule that denies. Pure.
 */
#pragma once

#include <stddef.h>

#include "wire/http_head.h"

#define URL_PATH_MAX HTTP_TARGET_MAX

/*
 * Of a target's path, with or without its query, which is left out. Percent-
 * encoding is resolved, runs of slashes become one. Returns the length and ends
 * out with NUL; or -1, and out is "".
 */
int url_path_normalise(const char *bytes, size_t len,
		       char out[URL_PATH_MAX + 1]);
