/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mask.h - takes a secret out of what a server sends back
 *
 * A server may say what it was told: in a header, in an error, in a page. Each
 * form that it may have there (as it is, percent-encoded, escaped as in JSON or
 * HTML, hexadecimal, base64 at any place in a longer text) is replaced by as
 * many asterisks, so that no length changes. A form may come in any pieces:
 * what could be the begin of one is held back until that is known, and nothing
 * else is. Other codings are not seen; nor is what a server keeps for itself.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/span.h"

struct error;
struct mask_forms;

/* The forms of one secret; NULL: no memory could be locked for them. */
struct mask_forms *mask_forms_new(const void *value, size_t len,
				  struct error *err);
void mask_forms_free(struct mask_forms *forms);
/* The longest. */
size_t mask_forms_longest(const struct mask_forms *forms);

#define MASK_FORMS_MAX 16 /* secrets of one host */

struct mask {
	const struct mask_forms *forms[MASK_FORMS_MAX]; /* borrowed */
	size_t count;
	bool starts[256]; /* a form of any of them begins with this byte */
	uint8_t *held;    /* owned, wiped; NULL while nothing was held */
	size_t held_len, held_size;
	size_t said; /* how many of them have left already: mask_pause() */
};

/* An empty one; forms are added before anything is masked. */
void mask_init(struct mask *mask);
/* -1: too many. */
int mask_add(struct mask *mask, const struct mask_forms *forms);
void mask_release(struct mask *mask);

/*
 * The next piece of a body. out has room for mask->held_len + len bytes, and
 * may not overlap. Returns how many are in it; the rest is held.
 */
size_t mask_feed(struct mask *mask, const void *bytes, size_t len,
		 uint8_t *out);
/* Nothing follows: out gets what was held. Returns how much. */
size_t mask_end(struct mask *mask, uint8_t *out);
/*
 * The same where something may follow that belongs to it. What was the begin of
 * a form is masked from MASK_PART_MIN bytes and half of it on, and its rest
 * will be, if it comes: less than half of a form can be seen.
 */
#define MASK_PART_MIN 12
size_t mask_pause(struct mask *mask, uint8_t *out);
/* Is there something to mask in a text that is whole? */
int mask_finds(const struct mask *mask, struct span text);
/* Masks a whole text where it is. */
void mask_text(const struct mask *mask, char *text, size_t len);
