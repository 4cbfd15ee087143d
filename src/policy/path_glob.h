/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_glob.h - the paths that a rule means
 *
 * `*` stands for any bytes inside a segment, once in each: so a segment is
 * compared at its two ends and needs no search. `**` stands for any number of
 * whole segments, also none. The rest is spelled as a request's path is when it
 * is compared (wire/url_path.h).
 */
#pragma once

#include <stddef.h>

struct error;

#define PATH_GLOB_MAX 1024
#define PATH_GLOB_SEGMENTS_MAX 32
#define PATH_GLOB_TEXT_SIZE (3 * PATH_GLOB_MAX + 1)

/*
 * *out is owned by the caller and begins with `/`; it is NULL when the glob
 * means every path. -1 and err otherwise.
 */
int path_glob_parse(const char *text, size_t len, char **out,
		    struct error *err);
/* As a rule is written: what would end a word or a path is encoded. */
void path_glob_format(const char *glob, char out[PATH_GLOB_TEXT_SIZE]);
