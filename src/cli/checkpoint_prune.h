/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_prune.h - checkpoints beyond what a sandbox keeps, and halves of
 * some that killed commands left
 */
#pragma once

#include <stdint.h>

struct error;
struct sandbox;

enum checkpoint_prune_mode { CHECKPOINT_PRUNE, CHECKPOINT_PRUNE_DRY };

/* One that goes; label is NULL for what a killed command left. */
typedef void checkpoint_dropped_fn(void *ctx, const struct sandbox *sandbox,
				   const char *label, uint64_t bytes);

/* The caller holds the sandbox's lock. */
int checkpoint_prune(const struct sandbox *sandbox,
		     enum checkpoint_prune_mode mode,
		     checkpoint_dropped_fn *on_dropped, void *ctx,
		     struct error *err);
