/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool.h - a disk of the host's onto which a tool writes
 *
 * For very many bytes: a write of a disk costs an emulated machine a tenth of
 * what the same bytes cost on the port. How many there are is told on stdout,
 * as lines of one number each, the last of which counts.
 */
#pragma once

#include <stddef.h>

struct error;

#define SPOOL_SERIAL "bawn.spool"

/* Before what has /dev is out of sight. */
int spool_open(struct error *err);
int spool_put(void *ctx, const void *bytes, size_t len, struct error *err);
/* The rest, and the last number. */
int spool_finish(struct error *err);
