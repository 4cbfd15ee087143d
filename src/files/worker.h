/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker.h - one thread that waits for the disk
 *
 * A flush to the disk may take seconds, in which nobody else's read should
 * wait. The thread gets descriptors of its own, one job after the other, and
 * nothing else of the server. The relay sends an FSYNC only when the writes
 * before it were answered, so no order with other requests is lost.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"

struct error;
struct op;
struct server;

#define WORKER_JOBS_MAX 64

enum worker_task {
	WORKER_FSYNC,
	WORKER_FDATASYNC,
	WORKER_SYNCFS,
};

struct worker_job {
	uint64_t unique;
	int fd; /* owned */
	int error;
	uint8_t share;
	uint8_t task; /* enum worker_task */
};

struct worker {
	struct source source; /* something is done */
	pthread_mutex_t lock; /* of all below */
	pthread_cond_t filled;
	struct worker_job jobs[WORKER_JOBS_MAX]; /* a ring */
	unsigned first, count; /* those before first + done wait for us */
	unsigned done;
	bool running;
};

int worker_init(struct server *server, struct error *err);
/*
 * When nothing but the seccomp filter is missing, which then holds for the
 * thread as well.
 */
int worker_start(struct server *server, struct error *err);
/* OP_LATER, or 0 or a negative errno when it was done at once. */
int worker_sync(struct op *op, int fd, enum worker_task task);
/* Answers what is done; when there is room. */
void worker_answer(struct server *server);
