/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_writes.h - writes that were called done before they were
 *
 * The kernel is told at once that a write went well, so that the next one
 * follows while the first is still under way. What went wrong is remembered
 * for the node and told once, by whoever asks next: a FLUSH (the close of a
 * file) or an FSYNC. A FLUSH is answered when all earlier writes of its node
 * are. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define WRITES_BUCKETS 256
#define WRITES_ERRORS_MAX 4096 /* nodes; of more, errors are forgotten */

struct writes_node;

/* A FLUSH that waited can be answered now; error is 0 or an errno. */
typedef void writes_flushed_fn(void *ctx, unsigned share, uint64_t unique,
			       int error);

struct writes {
	struct writes_node *buckets[WRITES_BUCKETS]; /* owned */
	unsigned errors;                             /* nodes that have one */
	unsigned flushes;                            /* that wait */
	writes_flushed_fn *on_flushed;
	void *ctx;
};

void writes_init(struct writes *writes, writes_flushed_fn *on_flushed,
		 void *ctx);
void writes_release(struct writes *writes);

/* True: answer it now. False: somebody must see its error directly. */
bool writes_may_answer(struct writes *writes, unsigned share, uint64_t node);
void writes_sent(struct writes *writes, unsigned share, uint64_t node);
/* In the order of writes_sent(). error: 0 or an errno. */
void writes_answered(struct writes *writes, unsigned share, uint64_t node,
		     int error);
/* The answer: 0 or an errno; -1: on_flushed() will give it. */
int writes_flush(struct writes *writes, unsigned share, uint64_t node,
		 uint64_t unique);
/* The remembered error, which is told by this; 0: none. */
int writes_take_error(struct writes *writes, unsigned share, uint64_t node);
/* The kernel has forgotten the node: nobody can ask any more. */
void writes_forget(struct writes *writes, unsigned share, uint64_t node);
