/* SPDX-License-Identifier: Apache-2.0 */
/*
 * newer.h - which files changed since a moment
 *
 * By the time of the last change of anything in a file's inode, which programs
 * cannot set: what was moved or unpacked with an old date counts as well.
 */
#pragma once

#include <stdint.h>

struct error;

#define NEWER_PATHS_MAX 1000
#define NEWER_VISITS_MAX (2u * 1000 * 1000)

/*
 * Writes "NOW" and the paths beneath folder that changed after `since`, each
 * ended by a NUL, to out. Both times are nanoseconds of this machine's clock.
 * No link is followed and no other file system entered. Of what lies in a .git
 * only the log of its HEAD is looked at: commits are seen there.
 */
int newer_list(int folder, uint64_t since, int out, struct error *err);
