/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saved_root.h - a disk that becomes a template: what of it is this one
 * sandbox's
 *
 * Run on a copy of the disk that is thrown away afterwards. What must not be
 * passed on: folders of the host, in whatever mode; what tells this machine
 * from others; what lives only while it runs.
 */
#pragma once

#include <stddef.h>

#include "tree/tree_walk.h"

struct error;

/*
 * Where folders of the host are mounted: a list of absolute paths, each ended
 * by a NUL. What lies there is taken out of sight, with the empty folders of
 * root's above it. root stands before every path ("").
 */
int saved_root_hide(const char *root, const char *paths, size_t len,
		    struct error *err);
/* Empties the machine's id; pem, the sandbox's authority, is trusted no more.
 */
void saved_root_clean(const char *root, const char *pem);
/* For tree_walk(), of a path as it has it. */
enum tree_walk_choice saved_root_choose(void *ctx, const char *path);
