/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.h - growable bytes with a hard maximum
 *
 * For whole things that are built or collected (a message, a file, a line).
 * Appending past the maximum fails and leaves the content as it was.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct buffer {
	uint8_t *data; /* owned; NULL while empty */
	size_t len;
	size_t capacity; /* private */
	size_t max;
};

#define BUFFER_INIT(max_bytes) ((struct buffer){ .max = (max_bytes) })

void buffer_init(struct buffer *buf, size_t max);
void buffer_release(struct buffer *buf);
int buffer_append(struct buffer *buf, const void *bytes, size_t len);
int buffer_printf(struct buffer *buf, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* Removes len bytes from the front; len may not exceed buf->len. */
void buffer_consume(struct buffer *buf, size_t len);
/* NUL-terminated view (the NUL is not counted); NULL if that exceeds max. */
const char *buffer_str(struct buffer *buf);

static inline void buffer_auto(struct buffer *buf)
{
	buffer_release(buf);
}
#define AUTO_BUFFER __attribute__((cleanup(buffer_auto)))
