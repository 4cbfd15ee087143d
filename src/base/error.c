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

/* Puts ": tail" behind the len bytes of text that vsnprintf() wanted. */
static void add_tail(struct error *made, int len, const char *tail)
{
	if (len < 0)
		made->text[len = 0] = '\0';
	if ((size_t)len < sizeof(made->text))
		(void)text_format(made->text + len,
				  sizeof(made->text) - (size_t)len, ": %s",
				  tail);
}

/* All build beside *err: an argument may point into its text. */

int error_set(struct error *err, int code, const char *fmt, ...)
{
	struct error made = { .code = code };
	int saved_errno = errno;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(made.text, sizeof(made.text), fmt, args);
	va_end(args);
	if (code)
		add_tail(&made, len, strerror(code));
	if (err)
		*err = made;
	errno = saved_errno;
	return -1;
}

int error_say(struct error *err, int code, const char *fmt, ...)
{
	struct error made = { .code = code };
	int saved_errno = errno;
	va_list args;

	va_start(args, fmt);
	if (vsnprintf(made.text, sizeof(made.text), fmt, args) < 0)
		made.text[0] = '\0';
	va_end(args);
	if (err)
		*err = made;
	errno = saved_errno;
	return -1;
}

int error_prefix(struct error *err, const char *fmt, ...)
{
	struct error made = { 0 };
	int saved_errno = errno;
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(made.text, sizeof(made.text), fmt, args);
	va_end(args);
	if (err) {
		made.code = err->code;
		add_tail(&made, len, err->text);
		*err = made;
	}
	errno = saved_errno;
	return -1;
}
