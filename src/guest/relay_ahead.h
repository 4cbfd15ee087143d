/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_ahead.h - answers that came before their requests
 *
 * The server sends what the kernel will most likely ask next: small files
 * beside one that was read, the end of a folder, names that are asked for in
 * every folder and are not there, that a new folder is empty, the times of a
 * folder that got or lost a name. A request that is answered from here saves a
 * round trip.
 *
 * Why an answer from here is never older than what the kernel may believe:
 *  - A request that changes a node passes the relay before its effect, and
 *    drops what is kept of the node. The kernel's requests are read in their
 *    order, so a read that follows a write finds nothing here.
 *  - What arrives while such a request is under way (sent, not answered) may
 *    have been made before its effect: it is not taken (ahead_changes()). The
 *    server answers in order; once the change was answered, what comes later
 *    was made later.
 *  - A change on the host is followed by a notification on the same stream:
 *    it drops what is kept here at once, and what the kernel got from here
 *    before when it reaches the kernel.
 * Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"

#define AHEAD_BUCKETS 8192
#define AHEAD_BYTES_MAX (16U << 20) /* then the oldest goes */
#define AHEAD_COUNT_MAX 8192
#define AHEAD_NAME_MAX 255 /* bytes; a longer one is refused */

struct ahead;

struct ahead_table {
	struct list order; /* oldest first */
	struct ahead *buckets[AHEAD_BUCKETS];
	size_t bytes;
	unsigned count;
};

/* A part of what is kept; valid until the table is used again. */
struct ahead_answer {
	const uint8_t *bytes;
	size_t len;
};

void ahead_init(struct ahead_table *table);
void ahead_clear(struct ahead_table *table);
/* Takes a record's payload in; false when it is none. */
bool ahead_add(struct ahead_table *table, unsigned share, const void *payload,
	       size_t len);
/* Which node a payload is about; 0: it is none. */
uint64_t ahead_node(const void *payload, size_t len);
/* The answer to READ, READDIR or READDIRPLUS, if it is here. */
bool ahead_find(struct ahead_table *table, unsigned share, const void *request,
		size_t len, struct ahead_answer *answer);
/* After the answer was given: a file that was read to its end goes. */
void ahead_used(struct ahead_table *table, unsigned share, const void *request,
		size_t len);
/* The answer to GETATTR, once. */
bool ahead_take_attr(struct ahead_table *table, unsigned share, uint64_t node,
		     void *attr);
/* A LOOKUP of a name that is known not to be there, for so long. */
bool ahead_is_absent(struct ahead_table *table, unsigned share,
		     const void *request, size_t len, uint64_t *seconds);
/*
 * A CREATE of a name that nobody has used, in a folder of which all names are
 * known because it was made here; for so long. Before ahead_drop_changed().
 */
bool ahead_is_unused(struct ahead_table *table, unsigned share,
		     const void *request, size_t len, uint64_t *seconds);
/* Nothing of this node is known any more. */
void ahead_drop(struct ahead_table *table, unsigned share, uint64_t node);
/* The same for every node that a request of the kernel may change. */
void ahead_drop_changed(struct ahead_table *table, unsigned share,
			const void *request, size_t len);
/* The nodes that a request may change, the second may be 0; false: none. */
bool ahead_changed_nodes(const void *request, size_t len, uint64_t nodes[2]);
/* May this request change what an answer about the node says? */
bool ahead_changes(const void *request, size_t len, uint64_t node);
