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
#include "proto/bulk.h"

#define PENDING_BUCKETS 1024 /* a power of two */
/* Beyond any of these nothing more is taken from the kernel. */
#define PENDING_MAX 4096
#define PENDING_WRITES_MAX 1024
/* Longer ones have the room of the longest: only they can be reserved. */
#define PENDING_LARGE_FROM (64U << 10)
#define PENDING_WRITE_BYTES_MAX (32U << 20)
/* Of answers: with one more, and those that the host was not told of yet, they
 * fit into the memory beside the port, which is so much faster. */
#define PENDING_READ_BYTES_MAX (BULK_BYTES / 2)

struct pending {
	struct list order;    /* private */
	struct pending *next; /* private: of the same bucket */
	uint64_t unique, node;
	uint32_t opcode;
	uint32_t len;
	uint8_t share;
	bool answered; /* a write that its kernel takes for done */
	bool sent;     /* to some server */
	bool in_bulk;  /* its data lies there: relay_bulk.c */
	uint32_t bulk_start;
	uint32_t wanted;                    /* bytes that a READ asks for */
	uint64_t promised;                  /* node of a CREATE: relay_make.c */
	_Alignas(uint64_t) uint8_t bytes[]; /* word_copy.h */
};

/* Sizes of which some are kept for the next one; others go to malloc. */
enum pending_class {
	PENDING_SMALL,  /* nearly every request but a write */
	PENDING_MEDIUM, /* small files: what was just used is still at hand */
	PENDING_LARGE,  /* malloc would ask the kernel each time */
	PENDING_OTHER,

	PENDING_CLASSES,
};

struct pending_table {
	struct list order;
	struct pending *buckets[PENDING_BUCKETS];
	struct pending *spare[PENDING_OTHER];
	unsigned spare_count[PENDING_OTHER];
	struct pending *reserve; /* of PENDING_LARGE; NULL: none yet */
	struct pending *resend;  /* next to be sent again; NULL: none */
	unsigned count, writes;
	unsigned answered; /* of them: nobody waits for these */
	size_t write_bytes, read_bytes;
};

void pending_init(struct pending_table *table);
void pending_release(struct pending_table *table);
bool pending_has_room(const struct pending_table *table);
/* Copies a request, which begins with a struct fuse_in_header. */
struct pending *pending_add(struct pending_table *table, unsigned share,
			    const void *bytes, size_t len);
/* Where to read the next request to; and a long one that was, as it lies. */
uint8_t *pending_reserve(struct pending_table *table);
struct pending *pending_add_reserved(struct pending_table *table,
				     unsigned share, size_t len);
/* Its kernel takes it for done. */
void pending_answer(struct pending_table *table, struct pending *pending);
/* NULL when there is none. */
struct pending *pending_find(struct pending_table *table, unsigned share,
			     uint64_t unique);
void pending_remove(struct pending_table *table, struct pending *pending);

/* A new server knows none of them: pending_next() gives each, oldest first. */
void pending_rewind(struct pending_table *table);
struct pending *pending_next(struct pending_table *table);
/* The newest one was not sent: pending_next() gives it. */
void pending_delay(struct pending_table *table, struct pending *pending);
