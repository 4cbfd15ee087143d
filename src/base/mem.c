/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mem.c - allocation that cannot fail, and what memory holds
 */
#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Nothing here may allocate, so no stdio. */
static _Noreturn void out_of_memory(void)
{
	static const char text[] = "out of memory\n";
	ssize_t ignored = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)ignored;
	abort();
}

/* malloc(0) may return NULL, which is not a failure: ask for one byte. */
void *xmalloc(size_t size)
{
	void *memory = malloc(size ? size : 1);

	if (!memory)
		out_of_memory();
	return memory;
}

void *xcalloc(size_t count, size_t size)
{
	void *memory = count && size ? calloc(count, size) : calloc(1, 1);

	if (!memory)
		out_of_memory();
	return memory;
}

void *xrealloc(void *old, size_t size)
{
	void *memory = realloc(old, size ? size : 1);

	if (!memory)
		out_of_memory();
	return memory;
}

char *xstrdup(const char *text)
{
	size_t size = strlen(text) + 1;

	return memcpy(xmalloc(size), text, size);
}

char *xstrndup(const char *text, size_t len)
{
	size_t used = strnlen(text, len);
	char *copy = xmalloc(used + 1);

	memcpy(copy, text, used);
	copy[used] = '\0';
	return copy;
}

char *xasprintf(const char *fmt, ...)
{
	va_list args, again;
	char *text;
	int len;

	va_start(args, fmt);
	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, args);
	va_end(args);
	if (len < 0) /* more than INT_MAX bytes: no caller means that */
		abort();
	text = xmalloc((size_t)len + 1);
	vsnprintf(text, (size_t)len + 1, fmt, again);
	va_end(again);
	return text;
}

bool mem_is_zero(const void *bytes, size_t len)
{
	const char *at = bytes;

	/* Each byte equals the one after it, and the first one is zero. */
	return !len || (!at[0] && !memcmp(at, at + 1, len - 1));
}
