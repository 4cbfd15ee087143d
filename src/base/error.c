/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.c - how a failure travels up
 */
#include "base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

int error_set(struct error *err, int code, const char *fmt, ...)
{
	/* An argument may point into err->text: build beside it, then copy. */
	char text[sizeof(err->text)];
	int saved_errno = errno;
	va_list args;
	int len;

	if (!err)
		return -1;
	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0)
		text[len = 0] = '\0';
	if (code && (size_t)len < sizeof(text))
		(void)text_format(text + len, sizeof(text) - (size_t)len,
				  ": %s", strerror(code));
	err->code = code;
	(void)text_copy(err->text, sizeof(err->text), text);
	errno = saved_errno;
	return -1;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
	char text[sizeof(err->text)];
	int saved_errno = errno;
	va_list args;
	int len;

	if (!err)
		return -1;
	va_start(args, fmt);
	len = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (len < 0)
		text[len = 0] = '\0';
	if ((size_t)len < sizeof(text))
		(void)text_format(text + len, sizeof(text) - (size_t)len,
				  ": %s", err->text);
	(void)text_copy(err->text, sizeof(err->text), text);
	errno = saved_errno;
	return -1;
}
