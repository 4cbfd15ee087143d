/* SPDX-License-Identifier: Apache-2.0 */
/*
 * layer_store.h - the cache of layers as a whole: cache/layers/
 *
 * bawn-layers fills it (src/layers/store.h). Nothing stands on it.
 */
#pragma once

#include <stdint.h>

struct error;

/* What it takes up. */
int layer_store_bytes(uint64_t *bytes, struct error *err);
/* Removes all that nobody is writing; adds what it took up. */
int layer_store_clear(uint64_t *freed, struct error *err);
