/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64.c - RFC 4648, as docker's config.json has it
 */
#include "oci/base64.h"

#include <stdint.h>
#include <string.h>

static int value_of(char c)
{
	static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "abcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *found = c ? strchr(digits, c) : NULL;

	return found ? (int)(found - digits) : -1;
}

ssize_t base64_read(const char *text, size_t len, void *out, size_t size)
{
	uint8_t *to = out;
	uint32_t bits = 0;
	unsigned count = 0;
	size_t used = 0, whole = len;

	while (len && text[len - 1] == '=' && whole - len < 2)
		len--;
	if ((whole != len && whole % 4) || len % 4 == 1)
		return -1;
	for (size_t i = 0; i < len; i++) {
		int value = value_of(text[i]);

		if (value < 0)
			return -1;
		bits = bits << 6 | (uint32_t)value;
		count += 6;
		if (count < 8)
			continue;
		count -= 8;
		if (used == size)
			return -1;
		to[used++] = (uint8_t)(bits >> count);
	}
	/* bits that no byte took must be zero: one spelling for each content */
	return bits & ((1u << count) - 1) ? -1 : (ssize_t)used;
}
