/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_pending.h - requests that the server has not answered yet
 *
 * Each is kept with its bytes, in the order in which it came, so that a new
 * server can be sent all of them again. Pure: touches no descriptor.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

#define PENDING_BUCKETS 1024 /* a power of two */
/* Beyond any of these nothing more is taken from the kernel. */
#define PENDING_MAX 4096
#define PENDING_WRITES_MAX 1024
#define PENDING_WRITE_BYTES_MAX (32U << 20)

struct pending {
	struct list order;    /* private */
	struct pending *next; /* private: of the same bucket */
	uint64_t unique, node;
	uint32_t opcode;
	uint32_t len;
	uint8_t share;
	bool answered; /* a write that its kernel takes for done */
	uint8_t bytes[];
};

/* Sizes of which some are kept for the next one; others go to malloc. */
enum pending_class {
	PENDING_SMALL, /* nearly every request but a write */
	PENDING_LARGE, /* malloc would ask the kernel each time */
	PENDING_OTHER,

	PENDING_CLASSES,
};

struct pending_table {
	struct list order;
	struct pending *buckets[PENDING_BUCKETS];
	struct pending *spare[PENDING_OTHER];
	unsigned spare_count[PENDING_OTHER];
	struct pending *resend; /* next to be sent again; NULL: none */
	unsigned count, writes;
	size_t write_bytes;
};

void pending_init(struct pending_table *table);
void pending_release(struct pending_table *table);
bool pending_has_room(const struct pending_table *table);
/* Copies a request, which begins with a struct fuse_in_header. */
struct pending *pending_add(struct pending_table *table, unsigned share,
			    const void *bytes, size_t len);
/* NULL when there is none. */
struct pending *pending_find(struct pending_table *table, unsigned share,
			     uint64_t unique);
void pending_remove(struct pending_table *table, struct pending *pending);

/* A new server knows none of them: pending_next() gives each, oldest first. */
void pending_rewind(struct pending_table *table);
struct pending *pending_next(struct pending_table *table);
