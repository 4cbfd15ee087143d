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
/*
 * Lets every user go through the folders above path, as far as they are on the
 * root disk: a project in the host's /root would be out of agent's reach.
 */
void relay_tree_open(const char *path);
/* Takes away, lazily, every mount of that source: nobody serves it. */
void relay_tree_clear(const char *source);
