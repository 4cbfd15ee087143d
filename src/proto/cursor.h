/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.h - bounds-checked reading and writing of wire bytes
 *
 * The flag `bad` is sticky: a decoder reads all its fields and tests once.
 * Integers are little-endian on the wire. Nothing here allocates.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cursor {
	const uint8_t *pos, *end;
	bool bad;
};

struct cursor cursor_over(const void *bytes, size_t len);
const void *cursor_bytes(struct cursor *c, size_t len); /* NULL past the end */
uint8_t cursor_u8(struct cursor *c);
uint16_t cursor_u16(struct cursor *c);
uint32_t cursor_u32(struct cursor *c);
uint64_t cursor_u64(struct cursor *c);
const char *cursor_str(struct cursor *c); /* NUL must be inside; else NULL */
size_t cursor_left(const struct cursor *c);
bool cursor_done(const struct cursor *c); /* all read, none left, not bad */

struct writer {
	uint8_t *start, *pos, *end;
	bool bad; /* something did not fit */
};

struct writer writer_over(void *bytes, size_t size);
void writer_bytes(struct writer *w, const void *bytes, size_t len);
void writer_u8(struct writer *w, uint8_t value);
void writer_u16(struct writer *w, uint16_t value);
void writer_u32(struct writer *w, uint32_t value);
void writer_u64(struct writer *w, uint64_t value);
void writer_str(struct writer *w, const char *text); /* with its NUL */
size_t writer_len(const struct writer *w);
