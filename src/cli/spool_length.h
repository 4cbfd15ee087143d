/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spool_length.h - how much a guest says that it wrote onto its second disk
 *
 * Lines of one decimal number each, which only grow; the last one counts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;

#define SPOOL_LENGTH_LINE_MAX 24

struct spool_length {
	uint64_t limit; /* more is refused */
	uint64_t bytes;
	bool told;                        /* there was a line */
	char line[SPOOL_LENGTH_LINE_MAX]; /* that has not ended yet */
	size_t len;
};

/* Some bytes of it, cut anywhere. */
int spool_length_feed(struct spool_length *length, const void *bytes,
		      size_t len, struct error *err);
/* Whether it is all. */
int spool_length_finish(const struct spool_length *length, struct error *err);
