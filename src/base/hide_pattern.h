/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hide_pattern.h - which paths of a share are absent in the guest
 *
 * The patterns are those of .gitignore: `*` and `?` stay inside a component,
 * `[a-z]` is a set, `**` is any number of components, a slash at the start or
 * in the middle binds the pattern to the share's root, a slash at the end means
 * folders only, `!` at the start makes visible again; the last match wins.
 * What lies beneath a hidden folder is hidden. Letters match in either case
 * (ASCII), because the host's file system may fold them and hiding one name too
 * many is the safer mistake. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define HIDE_PATTERNS_MAX 1024
#define HIDE_PATTERN_BYTES_MAX 1024

struct hide_pattern;

struct hide_list {
	struct hide_pattern *patterns; /* owned */
	size_t count;
};

/* Empty lines and comments are skipped; -1 when it is too long or too many. */
int hide_list_add(struct hide_list *list, const char *line);
void hide_list_release(struct hide_list *list);

enum hide_kind {
	HIDE_FILE,
	HIDE_FOLDER,
};

/* path is relative to the share's root, without a slash at either end. */
bool hide_list_matches(const struct hide_list *list, const char *path,
		       enum hide_kind kind);
/*
 * True when something beneath this folder may be hidden because of where the
 * folder lies: such a folder must not be moved, or what it hides would show.
 */
bool hide_list_holds(const struct hide_list *list, const char *path);
