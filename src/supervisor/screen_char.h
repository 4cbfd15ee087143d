/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_char.h - characters of a terminal: decoding, width, encoding
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCREEN_REPLACEMENT 0xfffdu

struct screen_utf8 {
	uint32_t value;
	unsigned missing; /* continuation bytes that must follow */
	uint32_t least;   /* smaller values are overlong */
};

/*
 * Feeds one byte. Returns how many characters came out (0, 1 or 2: a broken
 * one and the one that broke it).
 */
int screen_utf8_feed(struct screen_utf8 *utf8, uint8_t byte, uint32_t out[2]);
/* 0 combining, 1 or 2 columns. */
unsigned screen_char_width(uint32_t c);
/* At most 4 bytes; controls and impossible values become U+FFFD. */
size_t screen_char_encode(uint32_t c, uint8_t out[4]);
