/* SPDX-License-Identifier: Apache-2.0 */
/*
 * url_path.c - one spelling for each path, for rules that name paths
 */
#include "wire/url_path.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = span_small(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Two digits at bytes: the byte, or -1. */
static int hex_byte(const char *bytes, size_t len)
{
	int high = len > 0 ? hex_digit(bytes[0]) : -1;
	int low = len > 1 ? hex_digit(bytes[1]) : -1;

	return high < 0 || low < 0 ? -1 : high << 4 | low;
}

/* The byte that stands for itself or behind a percent sign; -1: neither. */
static int decode(const char *bytes, size_t len, size_t *used)
{
	int byte;

	*used = 1;
	if (bytes[0] != '%')
		return bytes[0] == ';' ? -1 : (uint8_t)bytes[0];
	*used = 3;
	byte = hex_byte(bytes + 1, len - 1);
	return byte == '/' ? -1 : byte;
}

/* Bytes that follow a UTF-8 lead byte; -1: it is none. */
static int followers(uint8_t lead)
{
	if (lead < 0x80)
		return 0;
	if (lead >= 0xc2 && lead <= 0xdf)
		return 1;
	if (lead >= 0xe0 && lead <= 0xef)
		return 2;
	return lead >= 0xf0 && lead <= 0xf4 ? 3 : -1;
}

/* Too long forms, surrogates and what is beyond Unicode. */
static bool is_bad_second(uint8_t lead, uint8_t second)
{
	return (lead == 0xe0 && second < 0xa0) ||
	       (lead == 0xed && second > 0x9f) ||
	       (lead == 0xf0 && second < 0x90) ||
	       (lead == 0xf4 && second > 0x8f);
}

static bool is_utf8(const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint8_t lead = (uint8_t)text[i++];
		int more = followers(lead);

		if (more < 0 || (size_t)more > len - i)
			return false;
		if (more > 0 && is_bad_second(lead, (uint8_t)text[i]))
			return false;
		for (; more > 0; more--) {
			if (((uint8_t)text[i++] & 0xc0) != 0x80)
				return false;
		}
	}
	return true;
}

/* %2541 is %41 to most and A to those that decode twice. */
static bool has_escape(const char *path, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (path[i] == '%' && hex_byte(path + i + 1, len - i - 1) >= 0)
			return true;
	}
	return false;
}

static bool has_dot_segment(const char *path)
{
	for (const char *at = path; at; at = strchr(at + 1, '/')) {
		size_t len = strcspn(at + 1, "/");

		if ((len == 1 && at[1] == '.') ||
		    (len == 2 && at[1] == '.' && at[2] == '.'))
			return true;
	}
	return false;
}

/* Without the query; -1 when a byte of it cannot be in a path. */
static int decode_all(const char *bytes, size_t len, char *out)
{
	size_t count = 0, used;

	for (size_t i = 0; i < len && bytes[i] != '?'; i += used) {
		int byte = decode(bytes + i, len - i, &used);

		if (byte < 0x20 || byte == 0x7f || byte == '\\')
			return -1;
		if (byte == '/' && count > 0 && out[count - 1] == '/')
			continue;
		out[count++] = (char)byte;
	}
	out[count] = '\0';
	return (int)count;
}

int url_path_normalise(const char *bytes, size_t len,
		       char out[URL_PATH_MAX + 1])
{
	int count = -1;

	if (len > 0 && len <= URL_PATH_MAX && bytes[0] == '/')
		count = decode_all(bytes, len, out);
	if (count > 0 && is_utf8(out, (size_t)count) &&
	    !has_escape(out, (size_t)count) && !has_dot_segment(out))
		return count;
	out[0] = '\0';
	return -1;
}
