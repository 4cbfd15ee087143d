/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.c - bounded strings
 */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"

int text_copy(char *dst, size_t size, const char *src)
{
	size_t len = strnlen(src, size);
	int cut = len == size;

	if (!size)
		return -1;
	if (cut)
		len = size - 1;
	memmove(dst, src, len);
	dst[len] = '\0';
	return cut ? -1 : 0;
}

int text_format(char *dst, size_t size, const char *fmt, ...)
{
	va_list args;
	int len;

	va_start(args, fmt);
	len = vsnprintf(dst, size, fmt, args);
	va_end(args);
	if (len < 0 && size)
		dst[0] = '\0';
	return len < 0 || (size_t)len >= size ? -1 : 0;
}

bool text_is_within(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	return strncmp(path, folder, len) == 0 &&
	       (path[len] == '/' || path[len] == '\0');
}

bool text_starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
	size_t text_len = strlen(text), suffix_len = strlen(suffix);

	return text_len >= suffix_len &&
	       memcmp(text + text_len - suffix_len, suffix, suffix_len) == 0;
}

/* Reads digits at *text and moves it behind them; -1 if none or too large. */
static int take_number(const char **text, uint64_t *out)
{
	const char *pos = *text;
	uint64_t value = 0;

	for (; *pos >= '0' && *pos <= '9'; pos++) {
		if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
		    __builtin_add_overflow(value, (uint64_t)(*pos - '0'),
					   &value))
			return -1;
	}
	if (pos == *text)
		return -1;
	*text = pos;
	*out = value;
	return 0;
}

int text_to_u64(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	uint64_t value;

	if (take_number(&text, &value) < 0 || *text || value < min ||
	    value > max)
		return -1;
	*out = value;
	return 0;
}

int text_to_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "kmgtp";
	const char *unit;
	unsigned shift;
	uint64_t value;

	if (take_number(&text, &value) < 0)
		return -1;
	if (!*text || ((*text == 'B' || *text == 'b') && !text[1])) {
		*bytes = value;
		return 0;
	}
	/* |0x20 lowers ASCII letters, and the table has nothing else. */
	unit = strchr(units, *text | 0x20);
	if (!unit || !*unit)
		return -1;
	text++;
	/* "G", "GB" and "GiB" are the same here: memory and disks in powers. */
	if (*text && strcmp(text, "B") != 0 && strcmp(text, "b") != 0 &&
	    strcmp(text, "iB") != 0 && strcmp(text, "ib") != 0)
		return -1;
	shift = 10 * (unsigned)(unit - units + 1);
	if (value > UINT64_MAX >> shift)
		return -1;
	*bytes = value << shift;
	return 0;
}

void text_from_size(uint64_t bytes, char *dst, size_t size)
{
	static const char *const units[] = { "B",  "KB", "MB", "GB",
					     "TB", "PB", "EB" };
	uint64_t whole = bytes, tenths = 0;
	size_t unit = 0;

	/*
	 * Tenths are rounded down: 1023.9 must not show as "1024 MB". The
	 * shift keeps the fraction's top ten bits only, enough for one digit.
	 */
	while (whole >= 1000 && unit + 1 < ARRAY_SIZE(units)) {
		tenths = (whole & 1023) * 10 / 1024;
		whole >>= 10;
		unit++;
	}
	if (unit && whole < 10)
		(void)text_format(dst, size, "%u.%u %s", (unsigned)whole,
				  (unsigned)tenths, units[unit]);
	else
		(void)text_format(dst, size, "%u %s", (unsigned)whole,
				  units[unit]);
}

/* Length of the UTF-8 character at bytes and its value; 0 when broken. */
static size_t utf8_length(const uint8_t *bytes, size_t len, uint32_t *value)
{
	static const uint32_t smallest[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t need = bytes[0] < 0x80         ? 1
		      : bytes[0] >> 5 == 0x06 ? 2
		      : bytes[0] >> 4 == 0x0e ? 3
		      : bytes[0] >> 3 == 0x1e ? 4
					      : 0;

	if (!need || need > len)
		return 0;
	*value = need == 1 ? bytes[0] : bytes[0] & (0x7fu >> need);
	for (size_t i = 1; i < need; i++) {
		if (bytes[i] >> 6 != 0x02)
			return 0;
		*value = *value << 6 | (bytes[i] & 0x3f);
	}
	if (*value < smallest[need] || *value > 0x10ffff ||
	    (*value >= 0xd800 && *value <= 0xdfff))
		return 0;
	return need;
}

static bool is_printable(uint32_t value)
{
	if (value < 0x20 || (value >= 0x7f && value < 0xa0))
		return false;
	/* Bidirectional overrides make a name read as another one. */
	return !(value >= 0x202a && value <= 0x202e) &&
	       !(value >= 0x2066 && value <= 0x2069);
}

void text_printable(const char *src, size_t len, char *dst, size_t size)
{
	const uint8_t *bytes = (const uint8_t *)src;
	size_t used = 0, before_dots = 0;

	if (!size)
		return;
	for (size_t i = 0, step; i < len; i += step) {
		uint32_t value = 0;
		size_t good = utf8_length(bytes + i, len - i, &value);
		bool plain = good && is_printable(value);
		char piece[4 * 4 + 1] = "";
		size_t piece_len = plain ? good : 4 * (good ? good : 1);

		step = good ? good : 1;
		if (plain)
			memcpy(piece, bytes + i, good);
		for (size_t j = 0; !plain && j < step; j++)
			(void)text_format(piece + 4 * j, 5, "\\x%02x",
					  bytes[i + j]);
		if (used + piece_len >= size) {
			size_t dots = size - 1 - before_dots;

			if (dots > 3)
				dots = 3;
			memcpy(dst + before_dots, "...", dots);
			used = before_dots + dots;
			break;
		}
		memcpy(dst + used, piece, piece_len);
		used += piece_len;
		if (used + 3 < size)
			before_dots = used;
	}
	dst[used] = '\0';
}

uint64_t text_hash_more(uint64_t hash, const void *bytes, size_t len)
{
	const uint8_t *at = bytes;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ at[i]) * 1099511628211ULL;
	return hash;
}

uint64_t text_hash(const char *text)
{
	return text_hash_more(TEXT_HASH_START, text, strlen(text));
}

void text_hex(const void *bytes, size_t len, char *dst)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *from = bytes;

	for (size_t i = 0; i < len; i++) {
		dst[2 * i] = digits[from[i] >> 4];
		dst[2 * i + 1] = digits[from[i] & 15];
	}
	dst[2 * len] = '\0';
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

int text_unhex(const char *text, void *bytes, size_t len)
{
	uint8_t *to = bytes;

	for (size_t i = 0; i < len; i++) {
		int high = hex_digit(text[2 * i]);
		int low = high < 0 ? -1 : hex_digit(text[2 * i + 1]);

		if (low < 0)
			return -1;
		to[i] = (uint8_t)(high << 4 | low);
	}
	return text[2 * len] ? -1 : 0;
}

unsigned text_distance(const char *a, const char *b)
{
	size_t b_len = strlen(b);
	AUTO_FREE unsigned *row = xcalloc(b_len + 1, sizeof(*row));

	for (size_t j = 0; j <= b_len; j++)
		row[j] = (unsigned)j;
	for (size_t i = 0; a[i]; i++) {
		unsigned diagonal = row[0];

		row[0] = (unsigned)i + 1;
		for (size_t j = 0; j < b_len; j++) {
			unsigned best = diagonal + (a[i] != b[j]);

			diagonal = row[j + 1];
			if (diagonal + 1 < best)
				best = diagonal + 1;
			if (row[j] + 1 < best)
				best = row[j] + 1;
			row[j + 1] = best;
		}
	}
	return row[b_len];
}

void text_nearest_init(struct text_nearest *nearest, const char *word)
{
	/* in a short word every letter could have been meant */
	*nearest =
		(struct text_nearest){ .word = word,
				       .distance = strlen(word) < 3 ? 2 : 3 };
}

void text_nearest_offer(struct text_nearest *nearest, const char *candidate)
{
	unsigned distance = text_distance(nearest->word, candidate);

	if (distance >= nearest->distance)
		return;
	nearest->distance = distance;
	nearest->best = candidate;
}
