/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_writes.h - changes that were called done before they were
 *
 * The kernel is told at once that a write went well, so that the next one
 * follows while the first is still under way. What went wrong nevertheless is
 * remembered for the node and told once, by the next FSYNC; until then each
 * write of the node waits for its own answer. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WRITES_BUCKETS 256
#define WRITES_ERRORS_MAX 4096 /* nodes; of more, errors are forgotten */

struct writes_error;

struct writes {
	struct writes_error *buckets[WRITES_BUCKETS]; /* owned */
	unsigned errors;                              /* nodes that have one */
};

void writes_init(struct writes *writes);
void writes_release(struct writes *writes);

/* True: answer it now. False: somebody must see its error directly. */
bool writes_may_answer(struct writes *writes, unsigned share, uint64_t node);
/* One that was answered has failed; the first error counts. */
void writes_failed(struct writes *writes, unsigned share, uint64_t node,
		   int error);
/* The remembered error, which is told by this; 0: none. */
int writes_take_error(struct writes *writes, unsigned share, uint64_t node);
/* The kernel has forgotten the node: nobody can ask any more. */
void writes_forget(struct writes *writes, unsigned share, uint64_t node);
