/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buffer.c - growable bytes with a hard maximum
 */
#include "base/buffer.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void buffer_init(struct buffer *buf, size_t max)
{
	*buf = BUFFER_INIT(max);
}

void buffer_release(struct buffer *buf)
{
	free(buf->data);
	*buf = BUFFER_INIT(buf->max);
}

/* Makes room for more bytes behind the content, or -1 past the maximum. */
static int reserve(struct buffer *buf, size_t more)
{
	size_t want;

	if (more > buf->max || buf->len > buf->max - more)
		return -1;
	want = buf->len + more;
	if (want <= buf->capacity)
		return 0;
	if (want < 64)
		want = 64;
	if (buf->capacity <= SIZE_MAX / 2 && want < buf->capacity * 2)
		want = buf->capacity * 2;
	if (want > buf->max)
		want = buf->max;
	buf->data = xrealloc(buf->data, want);
	buf->capacity = want;
	return 0;
}

int buffer_append(struct buffer *buf, const void *bytes, size_t len)
{
	if (reserve(buf, len) < 0)
		return -1;
	if (len)
		memcpy(buf->data + buf->len, bytes, len);
	buf->len += len;
	return 0;
}

int buffer_printf(struct buffer *buf, const char *fmt, ...)
{
	char small[256];
	va_list args, again;
	char *text = small;
	int len, rc;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(small, sizeof(small), fmt, args);
	va_end(args);
	/* Through its own memory: an argument may point into the buffer. */
	if (len >= (int)sizeof(small)) {
		text = (size_t)len <= buf->max ? xmalloc((size_t)len + 1)
					       : NULL;
		if (text)
			vsnprintf(text, (size_t)len + 1, fmt, again);
	}
	va_end(again);
	rc = len < 0 || !text ? -1 : buffer_append(buf, text, (size_t)len);
	if (text != small)
		free(text);
	return rc;
}

void buffer_consume(struct buffer *buf, size_t len)
{
	assert(len <= buf->len);
	buf->len -= len;
	if (buf->len && len)
		memmove(buf->data, buf->data + len, buf->len);
}

const char *buffer_str(struct buffer *buf)
{
	if (reserve(buf, 1) < 0)
		return NULL;
	buf->data[buf->len] = '\0';
	return (const char *)buf->data;
}
