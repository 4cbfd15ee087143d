/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - bounded strings
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Always NUL-terminates (size > 0). Returns 0, or -1 when it was cut. */
int text_copy(char *dst, size_t size, const char *src);
/* snprintf that returns 0, or -1 when it was cut. */
int text_format(char *dst, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
/* Is a path this folder, which does not end in a slash, or beneath it? */
bool text_is_within(const char *path, const char *folder);
/* Decimal, whole string, no sign, no spaces; -1 when not or out of range. */
int text_to_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out);
/* "512M", "4G", "4GiB", "2048m", "1T"; bytes; a bare number is bytes. */
int text_to_size(const char *text, uint64_t *bytes);
/* "1.5 GB": at most 3 digits, for tables. */
void text_from_size(uint64_t bytes, char *dst, size_t size);
/*
 * Makes foreign text fit for a terminal: control characters, DEL, C1 and
 * broken UTF-8 become "\xNN". Always terminated; cut with "..." if too long.
 */
void text_printable(const char *src, size_t len, char *dst, size_t size);
/* FNV-1a; for tables and names, never against somebody who chooses text. */
uint64_t text_hash(const char *text);
/* The same of bytes, piece by piece: the first hash is TEXT_HASH_START. */
#define TEXT_HASH_START 14695981039346656037ULL
uint64_t text_hash_more(uint64_t hash, const void *bytes, size_t len);
/* lower-case hex of len bytes; dst has 2*len+1 bytes. */
void text_hex(const void *bytes, size_t len, char *dst);
/* exactly 2*len hex digits; -1 otherwise. */
int text_unhex(const char *text, void *bytes, size_t len);
/* Levenshtein distance, for "did you mean". */
unsigned text_distance(const char *a, const char *b);

/* "did you mean": the candidate that differs least from a mistyped word. */
struct text_nearest {
	const char *word;
	const char *best;  /* borrowed; NULL while nothing is near enough */
	unsigned distance; /* of the best; at first the limit */
};
void text_nearest_init(struct text_nearest *nearest, const char *word);
void text_nearest_offer(struct text_nearest *nearest, const char *candidate);
