/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_scan.c - terminal output cut into text and whole, sane sequences
 */
#include "supervisor/screen_scan.h"

enum scan_state {
	SCAN_TEXT,
	SCAN_ESCAPE,        /* ESC, perhaps intermediates */
	SCAN_CSI,           /* ESC [ */
	SCAN_STRING,        /* until BEL or ESC \ */
	SCAN_STRING_ESCAPE, /* ESC in a string */
};

enum {
	BEL = 0x07,
	CAN = 0x18,
	SUB = 0x1a,
	ESC = 0x1b,
	DEL = 0x7f,
};

static void begin_escape(struct screen_scan *scan)
{
	scan->state = SCAN_ESCAPE;
	scan->digits = 0;
	scan->bad = scan->marked = false;
	scan->sequence = (struct screen_sequence){ .count = 1 };
}

static void end_sequence(struct screen_scan *scan, char final)
{
	scan->state = SCAN_TEXT;
	scan->sequence.final = final;
	if (!scan->bad)
		scan->on_sequence(scan->ctx, &scan->sequence);
}

static void scan_escape(struct screen_scan *scan, char c)
{
	if (c >= ' ' && c <= '/') {
		scan->sequence.middle = c;
		return;
	}
	if (scan->sequence.middle || (c >= '0' && c <= '~')) {
		if (!scan->sequence.middle && c == '[') {
			scan->sequence.csi = true;
			scan->state = SCAN_CSI;
		} else if (!scan->sequence.middle &&
			   (c == ']' || c == 'P' || c == 'X' || c == '^' ||
			    c == '_')) {
			scan->state = SCAN_STRING;
		} else {
			scan->bad |= c < '0' || c > '~';
			end_sequence(scan, c);
		}
		return;
	}
	scan->state = SCAN_TEXT;
}

static void scan_digit(struct screen_scan *scan, char c)
{
	unsigned *value = &scan->sequence.parameters[scan->sequence.count - 1];

	if (++scan->digits > SCREEN_SCAN_DIGITS)
		scan->bad = true;
	else
		*value = *value * 10 + (unsigned)(c - '0');
}

static void next_parameter(struct screen_scan *scan, bool colon)
{
	scan->digits = 0;
	if (scan->sequence.count == SCREEN_SCAN_PARAMETERS) {
		scan->bad = true;
		return;
	}
	if (colon)
		scan->sequence.colons |= 1u << scan->sequence.count;
	scan->sequence.count++;
}

static void scan_csi(struct screen_scan *scan, char c)
{
	if (c >= '0' && c <= '9') {
		scan_digit(scan, c);
	} else if (c == ';' || c == ':') {
		next_parameter(scan, c == ':');
	} else if (c >= '<' && c <= '?') {
		/* Only the first byte may be one. */
		scan->bad |= scan->marked;
		scan->sequence.private_mark = c;
	} else if (c >= ' ' && c <= '/') {
		scan->bad |= scan->sequence.middle != 0;
		scan->sequence.middle = c;
	} else if (c >= '@' && c <= '~') {
		end_sequence(scan, c);
	} else {
		scan->bad = true;
	}
	scan->marked = true;
}

static bool scan_anywhere(struct screen_scan *scan, char c)
{
	if (c == CAN || c == SUB) {
		scan->state = SCAN_TEXT;
		return true;
	}
	if (c == ESC) {
		if (scan->state == SCAN_STRING ||
		    scan->state == SCAN_STRING_ESCAPE)
			scan->state = SCAN_STRING_ESCAPE;
		else
			begin_escape(scan);
		return true;
	}
	return false;
}

static void scan_one(struct screen_scan *scan, char c)
{
	switch (scan->state) {
	case SCAN_STRING:
		if (c == BEL)
			scan->state = SCAN_TEXT;
		return;
	case SCAN_STRING_ESCAPE:
		/* ESC \ ends the string; another ESC begins a sequence. */
		begin_escape(scan);
		if (c == '\\')
			scan->state = SCAN_TEXT;
		else
			scan_escape(scan, c);
		return;
	default:
		break;
	}
	/* A control character acts at once and leaves the sequence alone. */
	if ((uint8_t)c < ' ')
		scan->on_text(scan->ctx, &c, 1);
	else if (c == DEL)
		return;
	else if (scan->state == SCAN_ESCAPE)
		scan_escape(scan, c);
	else
		scan_csi(scan, c);
}

static bool is_text(char c)
{
	return c != ESC && c != CAN && c != SUB && c != DEL;
}

void screen_scan(struct screen_scan *scan, const void *bytes, size_t len)
{
	const char *text = bytes;

	for (size_t i = 0; i < len;) {
		size_t begin = i;

		while (scan->state == SCAN_TEXT && i < len && is_text(text[i]))
			i++;
		if (i > begin) {
			scan->on_text(scan->ctx, text + begin, i - begin);
			continue;
		}
		if (!scan_anywhere(scan, text[i]) && scan->state != SCAN_TEXT)
			scan_one(scan, text[i]);
		i++;
	}
}
