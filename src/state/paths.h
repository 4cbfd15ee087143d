/* SPDX-License-Identifier: Apache-2.0 */
/*
 * paths.h - where things lie (design: XDG folders, or all under BAWN_HOME)
 *
 *   state   $BAWN_HOME/state  or $XDG_STATE_HOME/bawn   sandboxes/, events
 *   cache   $BAWN_HOME/cache  or $XDG_CACHE_HOME/bawn   kernels/, probes
 *   config  $BAWN_HOME/config or $XDG_CONFIG_HOME/bawn
 *   data    $BAWN_HOME/data   or $XDG_DATA_HOME/bawn    templates/, warm/
 *   system  $BAWN_SYSTEM_DIR  or /var/lib/bawn          templates/ for all
 *
 * Made 0700 on first use. A read-only home is an error that names BAWN_HOME.
 */
#pragma once

struct error;

enum paths_kind {
	PATHS_STATE,
	PATHS_CACHE,
	PATHS_CONFIG,
	PATHS_DATA,
	PATHS_SYSTEM, /* never created by paths_open() */

	PATHS_KINDS,
};

/* Absolute, malloc'd; sub may be NULL: "sandboxes" gives ".../sandboxes". */
char *paths_of(enum paths_kind kind, const char *sub, struct error *err);
/* Makes and opens it (O_DIRECTORY|O_PATH is not set: usable for openat). */
int paths_open(enum paths_kind kind, const char *sub, struct error *err);
/*
 * A program or library of ours: beside the running executable (build tree) or
 * in ../libexec/bawn. Never through PATH. Absolute, malloc'd.
 */
char *paths_helper(const char *name, struct error *err);
/* A file of data/: build tree's source data, or ../share/bawn. */
char *paths_data_file(const char *name, struct error *err);
