/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.h - allocation that cannot fail, and what memory holds
 *
 * Out of memory aborts. No size that a peer chose reaches these unclamped:
 * `buffer` and `ring` take a maximum at creation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

void *xmalloc(size_t size);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *old, size_t size);
char *xstrdup(const char *text);
char *xstrndup(const char *text, size_t len);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Nothing but zero bytes, also when there are none: a file may have a hole. */
bool mem_is_zero(const void *bytes, size_t len);
