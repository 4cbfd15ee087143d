/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hide_source.h - the files that say what a guest must not see
 *
 * Pure: texts in, patterns of base/hide_pattern.h out.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct error;

/* Of a .bawnignore and of a settings file, in bytes. */
#define HIDE_SOURCE_MAX (1U << 20)

/*
 * The patterns of a .bawnignore, in order. NULL with the line's number when one
 * is too long or not text. Caller owns it.
 */
json_t *hide_source_lines(const char *text, size_t len, struct error *err);
/*
 * What stands in Read(…) of `permissions.deny` of Claude's settings; empty when
 * there is none. NULL when it is not such a file. Caller owns it.
 */
json_t *hide_source_denied(const char *text, size_t len, struct error *err);

/*
 * Appends to patterns what a denied path means for the share at `share`:
 * "//x" is the host's /x, "~/x" lies in home, all else in project. Nothing when
 * it cannot lie in that share. -1 when it is too long.
 */
int hide_source_place(const char *denied, const char *share,
		      const char *project, const char *home, json_t *patterns);
/* A path relative to a share as a pattern that matches it alone; malloc'd. */
char *hide_source_escape(const char *path);
