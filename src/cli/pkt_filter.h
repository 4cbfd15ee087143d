/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkt_filter.h - what a guest's git-upload-pack says to the host's git
 *
 * git shows the words of the other side on the user's terminal as they come. In
 * the stream of pkt-lines only those of band 1 (objects) are data; control
 * characters in all others are replaced, byte by byte. Pure; any cutting of the
 * stream into pieces gives the same bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pkt_filter {
	unsigned digits; /* of the length, seen so far */
	unsigned length;
	unsigned left; /* bytes of this line that are still to come */
	bool first;    /* the next byte is the line's first */
	bool data;
	uint8_t before; /* the byte before, of text */
};

/* In place; -1 when these are not pkt-lines. Starts zeroed. */
int pkt_filter(struct pkt_filter *filter, uint8_t *bytes, size_t len);
/* Text for a terminal, in place; before starts as 0. */
void pkt_filter_text(uint8_t *before, uint8_t *bytes, size_t len);
