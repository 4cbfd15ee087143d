/* SPDX-License-Identifier: Apache-2.0 */
/*
 * node_table_internal.h - the region, for node_table*.c only
 */
#pragma once

#include "files/node_table.h"
#include "files/reply_log.h"

#define REGION_MAGIC 0x3173656c69666e62ULL
#define BUCKETS (1U << 19)
#define NAME_BLOCKS (1U << 21)
#define BLOCK_TEXT 27
/* Roots have the indices 1..NODE_SHARES_MAX. */
#define FIRST_INDEX (NODE_SHARES_MAX + 1)

struct name_block {
	uint32_t next;
	uint8_t len;
	char text[BLOCK_TEXT];
};

struct region {
	uint64_t magic;
	uint32_t node_end;   /* indices from here on were never used */
	uint32_t node_free;  /* list through hash_next */
	uint32_t block_end;  /* likewise for name blocks */
	uint32_t block_free; /* list through next */
	uint32_t live;
	uint32_t reserved;
	struct node_usage usage[NODE_SHARES_MAX];
	uint32_t buckets[BUCKETS];
	struct node nodes[NODE_NODES_MAX];
	struct name_block blocks[NAME_BLOCKS];
	struct reply_ring replies;
};

struct node_table {
	struct region *region; /* owned: a mapping */
	node_free_fn *on_free;
	void *on_free_ctx;
};

uint32_t node_bucket(const struct node_key *key);
/* An index that nobody has, and back; NULL: the table is full. */
struct node *node_take(struct node_table *table);
void node_give_back(struct node_table *table, struct node *node);
/* Makes a new node of it, of another generation than the last. */
void node_reset(struct node *node, const struct node_key *key, uint16_t type);
void node_hash(struct node_table *table, struct node *node);
/* Makes a region that a predecessor left fit for use. */
void node_table_recover(struct node_table *table);
