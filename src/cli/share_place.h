/* SPDX-License-Identifier: Apache-2.0 */
/*
 * share_place.h - where a path lies on its file system, whatever is mounted
 *
 * A bind mount gives a folder a second path that has no link in it. What tells
 * that two paths are one is the file system and the path on it; pure, over the
 * text of /proc/self/mountinfo, which is the kernel's.
 */
#pragma once

#include <stdbool.h>

struct share_place {
	unsigned major, minor;
	char *path; /* owned; NULL: not known */
};

/* Of a real path, by the mount that it lies on. */
void share_place_of(const char *mounts, const char *path,
		    struct share_place *place);
/* Of the next mount at or beneath a real path; false: there is none. */
bool share_place_next(const char **mounts, const char *path,
		      struct share_place *place);
void share_place_release(struct share_place *place);
#define AUTO_SHARE_PLACE __attribute__((cleanup(share_place_release)))

bool share_place_same(const struct share_place *a, const struct share_place *b);
/* Whether the first is the second or lies in it. */
bool share_place_within(const struct share_place *inner,
			const struct share_place *outer);
