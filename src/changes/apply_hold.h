/* SPDX-License-Identifier: Apache-2.0 */
/*
 * apply_hold.h - room on a disk that nobody else takes meanwhile
 *
 * What a file system says is free is everybody's, and may be more than this
 * user's quota allows. A file without a name takes the room before the first
 * change, and gives it back piece by piece, just before each piece is written;
 * it goes with its descriptor, also when we are killed.
 */
#pragma once

#include <stdint.h>

struct error;

struct apply_hold {
	int fd; /* owned; -1: nothing is held */
	uint64_t bytes;
};

#define APPLY_HOLD_INIT ((struct apply_hold){ .fd = -1 })

/*
 * -1 when there is no room, or the quota has none (errno in err->code). Where
 * a file system cannot do it, nothing is held.
 */
int apply_hold_take(struct apply_hold *hold, int root, uint64_t bytes,
		    struct error *err);
void apply_hold_give(struct apply_hold *hold, uint64_t bytes);
void apply_hold_release(struct apply_hold *hold);
