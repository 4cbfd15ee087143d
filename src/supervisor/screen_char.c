/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_char.c - characters of a terminal: decoding, width, encoding
 */
#include "supervisor/screen_char.h"

#include "base/own.h"

static bool impossible(uint32_t c)
{
	return c > 0x10ffff || (c >= 0xd800 && c < 0xe000);
}

static int begin(struct screen_utf8 *utf8, uint8_t byte, uint32_t *out)
{
	if (byte < 0x80) {
		*out = byte;
		return 1;
	}
	if (byte >= 0xc2 && byte < 0xe0)
		*utf8 = (struct screen_utf8){ byte & 0x1fu, 1, 0x80 };
	else if (byte >= 0xe0 && byte < 0xf0)
		*utf8 = (struct screen_utf8){ byte & 0x0fu, 2, 0x800 };
	else if (byte >= 0xf0 && byte < 0xf5)
		*utf8 = (struct screen_utf8){ byte & 0x07u, 3, 0x10000 };
	else {
		*out = SCREEN_REPLACEMENT;
		return 1;
	}
	return 0;
}

int screen_utf8_feed(struct screen_utf8 *utf8, uint8_t byte, uint32_t out[2])
{
	if (!utf8->missing)
		return begin(utf8, byte, out);
	if ((byte & 0xc0) != 0x80) {
		utf8->missing = 0;
		out[0] = SCREEN_REPLACEMENT;
		return 1 + begin(utf8, byte, out + 1);
	}
	utf8->value = utf8->value << 6 | (byte & 0x3fu);
	if (--utf8->missing)
		return 0;
	out[0] = utf8->value;
	if (impossible(out[0]) || out[0] < utf8->least)
		out[0] = SCREEN_REPLACEMENT;
	return 1;
}

struct range {
	uint32_t first, last;
};

static bool within(const struct range *ranges, size_t count, uint32_t c)
{
	for (size_t i = 0; i < count; i++) {
		if (c >= ranges[i].first && c <= ranges[i].last)
			return true;
	}
	return false;
}

/* Blocks, not single characters: a picture may be off where fonts are, too. */
static const struct range combining[] = {
	{ 0x0300, 0x036f },   { 0x0483, 0x0489 }, { 0x0591, 0x05bd },
	{ 0x0610, 0x061a },   { 0x064b, 0x065f }, { 0x06d6, 0x06dc },
	{ 0x0900, 0x0902 },   { 0x093c, 0x093c }, { 0x0941, 0x0948 },
	{ 0x0e31, 0x0e31 },   { 0x0e34, 0x0e3a }, { 0x0e47, 0x0e4e },
	{ 0x1ab0, 0x1aff },   { 0x1dc0, 0x1dff }, { 0x200b, 0x200f },
	{ 0x202a, 0x202e },   { 0x2060, 0x206f }, { 0x20d0, 0x20ff },
	{ 0xfe00, 0xfe0f },   { 0xfe20, 0xfe2f }, { 0xfeff, 0xfeff },
	{ 0xe0100, 0xe01ef },
};

static const struct range wide[] = {
	{ 0x1100, 0x115f },   { 0x231a, 0x231b },   { 0x23e9, 0x23ec },
	{ 0x25fd, 0x25fe },   { 0x2614, 0x2615 },   { 0x2648, 0x2653 },
	{ 0x26a1, 0x26a1 },   { 0x26aa, 0x26ab },   { 0x26bd, 0x26be },
	{ 0x26c4, 0x26c5 },   { 0x2705, 0x2705 },   { 0x270a, 0x270b },
	{ 0x2728, 0x2728 },   { 0x274c, 0x274c },   { 0x2753, 0x2755 },
	{ 0x2795, 0x2797 },   { 0x2b1b, 0x2b1c },   { 0x2b50, 0x2b50 },
	{ 0x2e80, 0x303e },   { 0x3041, 0xa4cf },   { 0xa960, 0xa97f },
	{ 0xac00, 0xd7a3 },   { 0xf900, 0xfaff },   { 0xfe30, 0xfe6f },
	{ 0xff00, 0xff60 },   { 0xffe0, 0xffe6 },   { 0x16fe0, 0x18aff },
	{ 0x1b000, 0x1b2ff }, { 0x1f18e, 0x1f18e }, { 0x1f191, 0x1f19a },
	{ 0x1f200, 0x1f64f }, { 0x1f680, 0x1f6ff }, { 0x1f7e0, 0x1f7eb },
	{ 0x1f900, 0x1faff }, { 0x20000, 0x3fffd },
};

unsigned screen_char_width(uint32_t c)
{
	if (c < 0x300)
		return 1;
	if (within(combining, ARRAY_SIZE(combining), c))
		return 0;
	return within(wide, ARRAY_SIZE(wide), c) ? 2 : 1;
}

size_t screen_char_encode(uint32_t c, uint8_t out[4])
{
	/* Controls, also the 8-bit ones, never leave as such. */
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || impossible(c))
		c = SCREEN_REPLACEMENT;
	if (c < 0x80) {
		out[0] = (uint8_t)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (uint8_t)(0xc0 | c >> 6);
		out[1] = (uint8_t)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (uint8_t)(0xe0 | c >> 12);
		out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
		out[2] = (uint8_t)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (uint8_t)(0xf0 | c >> 18);
	out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
	out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
	out[3] = (uint8_t)(0x80 | (c & 0x3f));
	return 4;
}
