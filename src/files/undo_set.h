/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo_set.h - what is known of inodes since the last mark
 *
 * Bounded: when it is full it starts anew. An inode that is forgotten is saved
 * once more, which costs room and harms nothing; that a saved file and a
 * living one are the same inode must not be forgotten, so `forgot` stays set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files/node_table.h"

#define UNDO_SET_SLOTS_MAX (1U << 20)
#define UNDO_NUMBER_MAX ((1U << 28) - 1)

enum undo_known {
	UNDO_META = 1 << 0,    /* its attributes are saved */
	UNDO_DATA = 1 << 1,    /* its content is */
	UNDO_CREATED = 1 << 2, /* it was made since the mark */
	UNDO_SHARED = 1 << 3,  /* the saved file `number` is this inode */
};

struct undo_slot {
	uint64_t ino; /* 0: free */
	uint32_t tag;
	uint32_t value; /* flags, number above them */
};

struct undo_set {
	struct undo_slot *slots; /* owned */
	size_t size, count;
	bool forgot;
};

/* 0: nothing is known. */
unsigned undo_set_flags(const struct undo_set *set, const struct node_key *key,
			uint32_t *number);
void undo_set_put(struct undo_set *set, const struct node_key *key,
		  unsigned flags, uint32_t number);
void undo_set_clear(struct undo_set *set);
