/* SPDX-License-Identifier: Apache-2.0 */
/*
 * big_endian.h - integers in network order over the cursor of src/proto
 */
#pragma once

#include <stdint.h>

#include "proto/cursor.h"

static inline uint16_t cursor_be16(struct cursor *c)
{
	uint16_t high = cursor_u8(c);

	return (uint16_t)(high << 8 | cursor_u8(c));
}

static inline uint32_t cursor_be32(struct cursor *c)
{
	uint32_t high = cursor_be16(c);

	return high << 16 | cursor_be16(c);
}

static inline void writer_be16(struct writer *w, uint16_t value)
{
	writer_u8(w, (uint8_t)(value >> 8));
	writer_u8(w, (uint8_t)value);
}

static inline void writer_be32(struct writer *w, uint32_t value)
{
	writer_be16(w, (uint16_t)(value >> 16));
	writer_be16(w, (uint16_t)value);
}
