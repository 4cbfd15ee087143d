/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_room.h - whether there is room for a list of changes, before the first
 *
 * Half of a change that fails is never there, but half of the changes would be:
 * a project that no longer fits together. The room is taken at once, where the
 * file system can do that; metadata may take more than it seems, and a file
 * that somebody has open frees nothing, so this is no promise.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct apply_setup;
struct change;
struct change_list;
struct error;

/*
 * How many bytes are taken at most at any time, when files of this block size
 * are written one after the other and each frees what it replaces.
 */
uint64_t apply_room_needed(const struct apply_setup *setup,
			   const struct change_list *list, uint64_t block);
/* What the folder has more afterwards; less than nothing is possible. */
struct apply_growth {
	int64_t bytes, files;
};
/* Of those changes that were made; made may be NULL: of all that are wanted. */
void apply_room_growth(const struct apply_setup *setup,
		       const struct change_list *list, const bool *made,
		       struct apply_growth *growth);
/* What this one takes while it is written. */
uint64_t apply_room_of(const struct apply_setup *setup,
		       const struct change *change);
/* -1 when there is less; else what is needed is held from now on. */
int apply_room_check(const struct apply_setup *setup,
		     const struct change_list *list, struct error *err);
