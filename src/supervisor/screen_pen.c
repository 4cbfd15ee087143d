/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_pen.c - colours and attributes (SGR)
 */
#include "supervisor/screen_internal.h"

#include "base/own.h"

static const struct {
	unsigned on, off;
	uint8_t attr;
} attributes[] = {
	{ 1, 22, CELL_BOLD },       { 2, 22, CELL_DIM },
	{ 3, 23, CELL_ITALIC },     { 4, 24, CELL_UNDERLINE },
	{ 5, 25, CELL_BLINK },      { 7, 27, CELL_REVERSE },
	{ 8, 28, CELL_HIDDEN },     { 9, 29, CELL_STRIKE },
	{ 21, 24, CELL_UNDERLINE },
};

/* 38;5;N and 38;2;R;G;B, also with colons; returns the last index used. */
static unsigned extended(const struct screen_sequence *s, unsigned i,
			 uint32_t *color)
{
	const unsigned *p = s->parameters;
	unsigned rgb = i + 2;

	if (i + 2 < s->count && p[i + 1] == 5) {
		*color = CELL_INDEXED | (p[i + 2] & 0xff);
		return i + 2;
	}
	if (i + 1 >= s->count || p[i + 1] != 2)
		return s->count;
	/* 38:2::R:G:B has an empty colour space in between. */
	if (i + 5 < s->count && (s->colons >> (i + 5) & 1))
		rgb++;
	if (rgb + 2 >= s->count)
		return s->count;
	*color = CELL_RGB | (p[rgb] & 0xff) << 16 | (p[rgb + 1] & 0xff) << 8 |
		 (p[rgb + 2] & 0xff);
	return rgb + 2;
}

static void attribute(struct pen *pen, unsigned number)
{
	for (size_t i = 0; i < ARRAY_SIZE(attributes); i++) {
		if (attributes[i].on == number)
			pen->attrs |= attributes[i].attr;
		else if (attributes[i].off == number)
			pen->attrs &= (uint8_t)~attributes[i].attr;
	}
}

static void simple(struct pen *pen, unsigned number)
{
	if (number == 0)
		*pen = (struct pen){ 0 };
	else if (number >= 30 && number <= 37)
		pen->fg = CELL_INDEXED | (number - 30);
	else if (number == 39)
		pen->fg = 0;
	else if (number >= 40 && number <= 47)
		pen->bg = CELL_INDEXED | (number - 40);
	else if (number == 49)
		pen->bg = 0;
	else if (number >= 90 && number <= 97)
		pen->fg = CELL_INDEXED | (number - 90 + 8);
	else if (number >= 100 && number <= 107)
		pen->bg = CELL_INDEXED | (number - 100 + 8);
	else
		attribute(pen, number);
}

void screen_pen(struct pen *pen, const struct screen_sequence *sequence)
{
	for (unsigned i = 0; i < sequence->count; i++) {
		unsigned number = sequence->parameters[i];

		if (number == 38) {
			i = extended(sequence, i, &pen->fg);
		} else if (number == 48) {
			i = extended(sequence, i, &pen->bg);
		} else if (number == 58) {
			uint32_t ignored;

			i = extended(sequence, i, &ignored);
		} else if (i + 1 < sequence->count &&
			   (sequence->colons >> (i + 1) & 1)) {
			/* 4:3 is a curly underline, 4:0 is none. */
			simple(pen, number == 4 && !sequence->parameters[i + 1]
					    ? 24
					    : number);
			i++;
		} else {
			simple(pen, number);
		}
	}
}
