/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fold.h - ASCII letters in either case, whatever the locale
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

static inline char fold_byte(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

static inline bool fold_equal(const char *a, const char *b, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (a[i] != b[i] && fold_byte(a[i]) != fold_byte(b[i]))
			return false;
	}
	return true;
}
