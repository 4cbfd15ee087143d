/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idle.h - after how long a sandbox without work is suspended
 *
 * The file `idle` in its folder, seconds as text; without it the default.
 */
#pragma once

#include <stdint.h>

struct error;

#define IDLE_DEFAULT_S 600
#define IDLE_MAX_S (30u * 24 * 3600)

/* "10m", "90s", "2h", "0": pure. */
int idle_parse(const char *text, uint32_t *seconds, struct error *err);
int idle_save(int folder, uint32_t seconds, struct error *err);
uint32_t idle_load(int folder);
