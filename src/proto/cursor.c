/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cursor.c - bounds-checked reading and writing of wire bytes
 */
#include "proto/cursor.h"

#include <string.h>

struct cursor cursor_over(const void *bytes, size_t len)
{
	static const uint8_t nothing[1];
	const uint8_t *start = bytes ? bytes : nothing;

	return (struct cursor){ .pos = start,
				.end = start + (bytes ? len : 0) };
}

size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->pos);
}

const void *cursor_bytes(struct cursor *c, size_t len)
{
	const uint8_t *bytes = c->pos;

	if (c->bad || len > cursor_left(c)) {
		c->bad = true;
		return NULL;
	}
	c->pos += len;
	return bytes;
}

static uint64_t read_integer(struct cursor *c, size_t size)
{
	const uint8_t *bytes = cursor_bytes(c, size);
	uint64_t value = 0;

	if (!bytes)
		return 0;
	for (size_t i = 0; i < size; i++)
		value |= (uint64_t)bytes[i] << (8 * i);
	return value;
}

uint8_t cursor_u8(struct cursor *c)
{
	return (uint8_t)read_integer(c, 1);
}

uint16_t cursor_u16(struct cursor *c)
{
	return (uint16_t)read_integer(c, 2);
}

uint32_t cursor_u32(struct cursor *c)
{
	return (uint32_t)read_integer(c, 4);
}

uint64_t cursor_u64(struct cursor *c)
{
	return read_integer(c, 8);
}

const char *cursor_str(struct cursor *c)
{
	const uint8_t *nul = NULL;

	if (!c->bad)
		nul = memchr(c->pos, 0, cursor_left(c));
	if (!nul) {
		c->bad = true;
		return NULL;
	}
	return cursor_bytes(c, (size_t)(nul - c->pos) + 1);
}

bool cursor_done(const struct cursor *c)
{
	return !c->bad && c->pos == c->end;
}

struct writer writer_over(void *bytes, size_t size)
{
	uint8_t *start = bytes;

	return (struct writer){ .start = start,
				.pos = start,
				.end = start + size };
}

void writer_bytes(struct writer *w, const void *bytes, size_t len)
{
	if (w->bad || len > (size_t)(w->end - w->pos)) {
		w->bad = true;
		return;
	}
	if (len > 0)
		memcpy(w->pos, bytes, len);
	w->pos += len;
}

static void write_integer(struct writer *w, uint64_t value, size_t size)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < size; i++)
		bytes[i] = (uint8_t)(value >> (8 * i));
	writer_bytes(w, bytes, size);
}

void writer_u8(struct writer *w, uint8_t value)
{
	write_integer(w, value, 1);
}

void writer_u16(struct writer *w, uint16_t value)
{
	write_integer(w, value, 2);
}

void writer_u32(struct writer *w, uint32_t value)
{
	write_integer(w, value, 4);
}

void writer_u64(struct writer *w, uint64_t value)
{
	write_integer(w, value, 8);
}

void writer_str(struct writer *w, const char *text)
{
	writer_bytes(w, text, strlen(text) + 1);
}

size_t writer_len(const struct writer *w)
{
	return (size_t)(w->pos - w->start);
}
