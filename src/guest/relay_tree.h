/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_tree.h - places to mount at
 *
 * For the relay's children: a path may lie in a folder that the relay serves.
 */
#pragma once

#include <sys/types.h>

struct error;

/* Makes what is missing of path, at its end an empty folder or file (type). */
int relay_tree_make(const char *path, mode_t type, struct error *err);
/* Takes away, lazily, every mount of that source: nobody serves it. */
void relay_tree_clear(const char *source);
