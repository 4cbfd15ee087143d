/* SPDX-License-Identifier: Apache-2.0 */
/*
 * error.h - how a failure travels up
 *
 * The storage belongs to the caller: nothing to free, ignoring an error costs
 * nothing, and out-of-memory cannot break error reporting. Whoever owns the
 * failure prints it, once.
 */
#pragma once

struct error {
	int code;       /* errno value, or 0 when none applies */
	char text[512]; /* outermost context first, always NUL-terminated */
};

/*
 * Sets err to "fmt" and, when code is not 0, ": strerror(code)".
 * err may be NULL. Always returns -1, so that a caller can return it.
 */
int error_set(struct error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * The same without strerror(code): for a text that says all, when the caller
 * needs the code.
 */
int error_say(struct error *err, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Puts "fmt: " in front of the text. Always returns -1. err may be NULL. */
int error_prefix(struct error *err, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
