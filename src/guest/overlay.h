/* SPDX-License-Identifier: Apache-2.0 */
/*
 * overlay.h - a shared folder that the guest writes over, on its own disk
 */
#pragma once

#include <stddef.h>

struct error;

#define OVERLAY_LOWER "/run/bawn/lower"
#define OVERLAY_FOLDER "/var/lib/bawn/overlay"
#define OVERLAY_PATH_MAX 80

void overlay_upper(unsigned number, char path[OVERLAY_PATH_MAX]);
void overlay_work(unsigned number, char path[OVERLAY_PATH_MAX]);
/*
 * Mounts share number on path, in the name of the upper folder's owner. Without
 * redirects and metacopy: what is in the upper folder is all that was changed,
 * and whole. Without times of access, as the disk that it is on.
 */
int overlay_mount(unsigned number, const char *path, struct error *err);
/*
 * Removes changes from the upper folder: paths is a list of names, each ended
 * by a NUL; an empty list means all. The overlay is taken away meanwhile, as
 * overlayfs demands, so nobody may use it: who does is named in the error.
 */
int overlay_discard(unsigned number, const char *path, const char *paths,
		    size_t len, struct error *err);
