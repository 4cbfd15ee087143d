/* SPDX-License-Identifier: Apache-2.0 */
/*
 * undo_set.c - what is known of inodes since the last mark
 *
 * Open addressing; inode numbers are used again, so device and birth time are
 * part of the key, as a hash.
 */
#include "files/undo_set.h"

#include <stdlib.h>

#include "base/mem.h"

#define SLOTS_FIRST 1024
#define FLAG_BITS 4

static uint64_t mix(uint64_t value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdULL;
	value ^= value >> 33;
	value *= 0xc4ceb9fe1a85ec53ULL;
	return value ^ value >> 33;
}

static uint32_t tag_of(const struct node_key *key)
{
	return (uint32_t)mix(key->dev ^ mix(key->btime_ns));
}

static struct undo_slot *find(const struct undo_set *set, uint64_t ino,
			      uint32_t tag)
{
	size_t at = mix(ino ^ tag) & (set->size - 1);

	while (set->slots[at].ino &&
	       (set->slots[at].ino != ino || set->slots[at].tag != tag))
		at = (at + 1) & (set->size - 1);
	return &set->slots[at];
}

unsigned undo_set_flags(const struct undo_set *set, const struct node_key *key,
			uint32_t *number)
{
	const struct undo_slot *slot;

	if (!set->size)
		return 0;
	slot = find(set, key->ino, tag_of(key));
	if (number)
		*number = slot->value >> FLAG_BITS;
	return slot->ino ? slot->value & ((1U << FLAG_BITS) - 1) : 0;
}

static void grow(struct undo_set *set)
{
	struct undo_set old = *set;

	if (set->size == UNDO_SET_SLOTS_MAX) {
		undo_set_clear(set);
		set->forgot = true;
		old.slots = NULL;
		old.size = 0;
	}
	set->size = old.size ? old.size * 2 : SLOTS_FIRST;
	set->slots = xcalloc(set->size, sizeof(*set->slots));
	for (size_t i = 0; i < old.size; i++) {
		if (old.slots[i].ino)
			*find(set, old.slots[i].ino, old.slots[i].tag) =
				old.slots[i];
	}
	free(old.slots);
}

void undo_set_put(struct undo_set *set, const struct node_key *key,
		  unsigned flags, uint32_t number)
{
	uint32_t tag = tag_of(key);
	struct undo_slot *slot;

	if (set->count >= set->size / 4 * 3)
		grow(set);
	slot = find(set, key->ino, tag);
	if (!slot->ino)
		set->count++;
	*slot = (struct undo_slot){ .ino = key->ino,
				    .tag = tag,
				    .value = number << FLAG_BITS | flags };
}

void undo_set_clear(struct undo_set *set)
{
	free(set->slots);
	*set = (struct undo_set){ 0 };
}
