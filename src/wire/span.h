/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.h - text inside somebody else's bytes
 *
 * Borrowed, not NUL-terminated. Letters are compared as ASCII: what a locale
 * thinks of them has no say on the wire.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct span {
	const char *bytes;
	size_t len;
};

static inline struct span span_over(const char *bytes, size_t len)
{
	return (struct span){ bytes, len };
}

static inline struct span span_of(const char *text)
{
	return span_over(text, strlen(text));
}

static inline char span_small(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static inline bool span_is(struct span span, const char *text)
{
	return strlen(text) == span.len &&
	       (span.len == 0 || memcmp(span.bytes, text, span.len) == 0);
}

/* Letters in any case. */
static inline bool span_matches(struct span span, struct span other)
{
	if (span.len != other.len)
		return false;
	for (size_t i = 0; i < span.len; i++) {
		if (span_small(span.bytes[i]) != span_small(other.bytes[i]))
			return false;
	}
	return true;
}

static inline bool span_matches_text(struct span span, const char *text)
{
	return span_matches(span, span_of(text));
}
