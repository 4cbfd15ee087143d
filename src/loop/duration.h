/* SPDX-License-Identifier: Apache-2.0 */
/*
 * duration.h - "90", "90s", "5m", "1h30m", "2d"
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define DURATION_MAX ((uint64_t)365 * 24 * 3600)

/* Seconds; a bare number is seconds. -1: not such a text, or too long. */
int duration_parse(const char *text, uint64_t *seconds);
/* "1h02m", "3m05s", "12s". */
void duration_text(double seconds, char *out, size_t size);
