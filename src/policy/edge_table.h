/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_table.h - the children of all nodes of a tree in one hash table
 *
 * From (node, text) to a child. The texts are borrowed. A text is read in words
 * of eight bytes: its first, its last, and those between where it is longer
 * than two. The hash does not see the case of letters, so that a caller may
 * compare with or without it.
 *
 * Looking for what is not there is the usual case and reads marks alone: a mark
 * is the hash of node and text, and stands at its slot or behind it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "policy/fold.h"

#define EDGE_WORD sizeof(uint64_t)
#define EDGE_CASE_BITS 0x2020202020202020u /* where letters differ in case */

/* A text to be looked for; the words of a short one overlap. */
struct edge_key {
	const char *text;
	size_t len;
	uint64_t head, tail;
	uint32_t hash;
};

struct edge {
	struct edge_key key; /* its text is borrowed */
	uint32_t parent;
	uint32_t child;
};

struct edge_slot {
	uint32_t mark; /* 0: free */
	uint32_t edge;
};

struct edge_table {
	struct edge_slot *slots; /* owned; a power of two, mostly free */
	struct edge *edges;      /* owned */
	uint32_t mask;
	uint32_t count, room; /* of edges */
};

enum edge_case {
	EDGE_EXACT,
	EDGE_FOLD, /* letters match in either case */
};

static inline uint64_t edge_load64(const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return word;
}

static inline uint32_t edge_load32(const char *text)
{
	uint32_t word;

	memcpy(&word, text, sizeof(word));
	return word;
}

static inline uint64_t edge_mix(uint64_t hash, uint64_t word)
{
	return (hash ^ (word | EDGE_CASE_BITS)) * 0x9e3779b97f4a7c15u;
}

/* Both words and the length tell texts of up to 16 bytes apart. */
static inline struct edge_key edge_key_of(const char *text, size_t len)
{
	struct edge_key key = { .text = text, .len = len };
	uint64_t hash = len;

	if (len >= EDGE_WORD) {
		key.head = edge_load64(text);
		key.tail = edge_load64(text + len - EDGE_WORD);
	} else if (len >= EDGE_WORD / 2) {
		key.head = edge_load32(text);
		key.tail = edge_load32(text + len - EDGE_WORD / 2);
	} else if (len > 0) {
		key.head = (unsigned char)text[0];
		key.tail = (uint64_t)(unsigned char)text[len / 2] << 8 |
			   (unsigned char)text[len - 1];
	}
	for (size_t at = EDGE_WORD; at + EDGE_WORD < len; at += EDGE_WORD)
		hash = edge_mix(hash, edge_load64(text + at)) >> 7;
	hash = edge_mix(hash, key.head) >> 29;
	key.hash = (uint32_t)(edge_mix(hash, key.tail) >> 32);
	return key;
}

static inline bool edge_same(const struct edge_key *a, const struct edge_key *b,
			     enum edge_case how)
{
	uint64_t differ = (a->head ^ b->head) | (a->tail ^ b->tail);

	if (a->len != b->len)
		return false;
	if (how == EDGE_FOLD)
		return !(differ & ~EDGE_CASE_BITS) &&
		       fold_equal(a->text, b->text, a->len);
	return !differ && (a->len <= 2 * EDGE_WORD ||
			   memcmp(a->text, b->text, a->len) == 0);
}

static inline uint32_t edge_mark(uint32_t hash, uint32_t parent)
{
	uint32_t mark = (hash ^ parent * 0x9e3779b1u) * 0x85ebca6bu;

	mark ^= mark >> 15;
	return mark ? mark : 1;
}

void edge_table_init(struct edge_table *table);
void edge_table_release(struct edge_table *table);
/* There must be none yet; a child is not 0. */
void edge_table_add(struct edge_table *table, uint32_t parent,
		    const struct edge_key *key, uint32_t child);

/* 0 when there is none. */
static inline uint32_t edge_table_find(const struct edge_table *table,
				       uint32_t parent,
				       const struct edge_key *key,
				       enum edge_case how)
{
	uint32_t mark = edge_mark(key->hash, parent), at = mark & table->mask;

	for (; table->slots[at].mark; at = (at + 1) & table->mask) {
		const struct edge *edge = &table->edges[table->slots[at].edge];

		if (table->slots[at].mark == mark && edge->parent == parent &&
		    edge_same(&edge->key, key, how))
			return edge->child;
	}
	return 0;
}
