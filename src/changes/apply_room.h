/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_room.h - whether there is room for a list of changes, before the first
 *
 * Half of a change that fails is never there, but half of the changes would be:
 * a project that no longer fits together. What the file system says is free may
 * be wrong (a quota, or metadata that takes more than it seems), so this is no
 * promise.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct apply_setup;
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
/* -1 when there is less. */
int apply_room_check(const struct apply_setup *setup,
		     const struct change_list *list, struct error *err);
