/* SPDX-License-Identifier: Apache-2.0 */
/*
 * base64.c - RFC 4648, the usual alphabet, with padding
 */
#include "wire/base64.h"

#include <limits.h>
#include <stdint.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			      "abcdefghijklmnopqrstuvwxyz0123456789+/";

size_t base64_encode(const void *bytes, size_t len, char *out)
{
	const uint8_t *in = bytes;
	size_t at = 0;

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t group = (uint32_t)in[i] << 16;

		group |= left > 1 ? (uint32_t)in[i + 1] << 8 : 0;
		group |= left > 2 ? in[i + 2] : 0;
		out[at++] = letters[group >> 18];
		out[at++] = letters[group >> 12 & 63];
		out[at++] = left > 1 ? letters[group >> 6 & 63] : '=';
		out[at++] = left > 2 ? letters[group & 63] : '=';
	}
	return at;
}

static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

int base64_decode(const char *text, size_t len, void *out)
{
	size_t padding = 0, at = 0;
	uint8_t *to = out;

	if (len % 4 || len > INT_MAX)
		return -1;
	while (padding < 2 && padding < len && text[len - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < len; i += 4) {
		uint32_t group = 0;

		for (size_t k = 0; k < 4; k++) {
			int value = i + k < len - padding
					    ? value_of(text[i + k])
					    : 0;

			if (value < 0)
				return -1;
			group = group << 6 | (uint32_t)value;
		}
		to[at++] = (uint8_t)(group >> 16);
		to[at++] = (uint8_t)(group >> 8);
		to[at++] = (uint8_t)group;
	}
	return (int)(at - padding);
}
