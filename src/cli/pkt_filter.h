/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkt_filter.h - what a guest's git-upload-pack says to the host's git
 *
 * git shows the words of the other side on the user's terminal as they come. In
 * the stream of pkt-lines only the objects are data: lines of band 1 from one
 * that a pack starts with, to the next mark. Control characters in all others
 * are replaced, byte by byte, those of band 1 too: git quotes a line that it
 * did not expect. Pure; any cutting of the stream into pieces gives the same
 * bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PKT_PACK_START_BYTES 8 /* the number of the band, PACK, zeros */

struct pkt_filter {
	unsigned digits; /* of the length, seen so far */
	unsigned length;
	unsigned left; /* bytes of this line that are still to come */
	unsigned at;   /* which byte of the line is next; not counted in data */
	bool pack;     /* a pack has begun */
	bool start;    /* so far the line is as a pack starts */
	bool data;     /* the rest of the line is objects */
	uint8_t before;      /* the byte before, of text */
	uint64_t text_bytes; /* how much there was, for the caller's bounds */
	uint64_t data_bytes;
};

/* In place; -1 when these are not pkt-lines. Starts zeroed. */
int pkt_filter(struct pkt_filter *filter, uint8_t *bytes, size_t len);
/* Text for a terminal, in place; before starts as 0. */
void pkt_filter_text(uint8_t *before, uint8_t *bytes, size_t len);
