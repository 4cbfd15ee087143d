/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint_keep.h - how many checkpoints a sandbox keeps
 *
 * Those that nobody named make room, the oldest first: there are at most so
 * many, and together with the named ones at most so many bytes. The newest one
 * of all stays. The limits are the sandbox's, in its file `keep`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct checkpoint;
struct error;

#define CHECKPOINT_KEEP_COUNT 10
#define CHECKPOINT_KEEP_BYTES (20ull << 30)
#define CHECKPOINT_KEEP_COUNT_MAX 1000

struct checkpoint_keep {
	unsigned count; /* unnamed ones */
	uint64_t bytes; /* of all */
};

/* "20", "8G" or "20,8G". What is not in it stays as it is. Pure. */
int checkpoint_keep_parse(const char *text, struct checkpoint_keep *keep,
			  struct error *err);
/* Defaults where there is no such file. */
void checkpoint_keep_load(int folder, struct checkpoint_keep *keep);
int checkpoint_keep_save(int folder, const struct checkpoint_keep *keep,
			 struct error *err);

/* Sets drop[i] for each that goes; the list is oldest first. Pure. */
void checkpoint_keep_choose(const struct checkpoint *list, size_t count,
			    const struct checkpoint_keep *keep, bool *drop);
