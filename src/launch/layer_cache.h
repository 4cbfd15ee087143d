/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_cache.h - bawn-layers, started when bawn-net first needs it
 *
 * Most sandboxes pull no image. It ends with its connection.
 */
#pragma once

#include "base/child.h"
#include "base/loop.h"

struct error;

/* One, and those of a bawn-net that was replaced. */
#define LAYER_CACHES_MAX 4

struct layer_cache {
	struct source end; /* owns the pidfd; -1: free */
	struct child child;
};

struct layer_caches {
	struct loop *loop; /* borrowed */

	/* private */
	struct layer_cache list[LAYER_CACHES_MAX];
};

void layer_caches_init(struct layer_caches *caches, struct loop *loop);
/* A connection that is the caller's, for bawn-net; -1. */
int layer_caches_connect(struct layer_caches *caches, const char *folder,
			 struct error *err);
void layer_caches_release(struct layer_caches *caches);
