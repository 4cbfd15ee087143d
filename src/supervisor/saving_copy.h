/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saving_copy.h - the thread that copies memory for a snapshot
 *
 * Hundreds of megabytes go to a disk while sessions want their bytes, so this
 * is the one thing that the supervisor does not do in its loop. The thread has
 * the image for itself from start to end, and nothing else; it lives as long as
 * one copy.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/loop.h"

struct ram_image;

/* One part of the copy: 1: call again, 0: done. */
typedef int saving_copy_fn(struct ram_image *image, uint64_t budget,
			   struct error *err);
/* In the loop, when the thread has ended; NULL: it did all. */
typedef void saving_copied_fn(void *ctx, const struct error *failure);

struct saving_copy {
	saving_copy_fn *part;
	struct ram_image *image; /* borrowed */
	bool beside;             /* others work meanwhile: be nice to them */
	saving_copied_fn *on_end;
	void *ctx;

	/* private */
	pthread_t thread;
	bool runs;
	atomic_bool unwanted;
	int result;
	struct error err;
	int event; /* owned; -1: none */
	struct source source;
};

#define SAVING_COPY_INIT    \
	{                   \
		.event = -1 \
	}

/* With part, image, on_end and ctx set. */
int saving_copy_start(struct saving_copy *copy, struct loop *loop,
		      struct error *err);
/* Nobody wants it any more: returns when the thread has ended, which is as soon
 * as the piece under way is written. on_end is not called. */
void saving_copy_stop(struct saving_copy *copy);
