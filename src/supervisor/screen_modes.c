/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_modes.c - follows DECSET, DECRST, keypad, cursor shape and resets
 */
#include "supervisor/screen_modes.h"

#include "base/buffer.h"
#include "base/own.h"

enum scan_state {
	SCAN_TEXT,
	SCAN_ESCAPE, /* ESC was seen */
	SCAN_CSI,    /* ESC [, collecting parameters */
};

enum mode_use {
	USE_INPUT, /* changes what keys and mouse send */
	USE_ALTERNATE,
	USE_CURSOR,
};

static const struct mode {
	unsigned number;
	enum mode_use use;
	bool at_first;
} mode_table[] = {
	{ 1, USE_INPUT, false },    /* application cursor keys */
	{ 9, USE_INPUT, false },    /* X10 mouse */
	{ 1000, USE_INPUT, false }, /* mouse: clicks */
	{ 1002, USE_INPUT, false }, /* mouse: drags */
	{ 1003, USE_INPUT, false }, /* mouse: moves */
	{ 1004, USE_INPUT, false }, /* focus */
	{ 1005, USE_INPUT, false }, /* mouse encodings */
	{ 1006, USE_INPUT, false },     { 1015, USE_INPUT, false },
	{ 2004, USE_INPUT, false }, /* bracketed paste */
	{ 47, USE_ALTERNATE, false },   { 1047, USE_ALTERNATE, false },
	{ 1049, USE_ALTERNATE, false }, { 25, USE_CURSOR, true }, /* visible */
};

void screen_modes_init(struct screen_modes *modes)
{
	*modes = (struct screen_modes){ 0 };
	for (size_t i = 0; i < ARRAY_SIZE(mode_table); i++) {
		if (mode_table[i].at_first)
			modes->set |= 1u << i;
	}
}

static void set_mode(struct screen_modes *modes, unsigned number, bool on)
{
	for (size_t i = 0; i < ARRAY_SIZE(mode_table); i++) {
		if (mode_table[i].number != number)
			continue;
		if (on)
			modes->set |= 1u << i;
		else
			modes->set &= ~(1u << i);
	}
}

static void end_of_csi(struct screen_modes *modes, char final)
{
	if (modes->private_mark == '?' && (final == 'h' || final == 'l')) {
		for (unsigned i = 0; i <= modes->count; i++)
			set_mode(modes, modes->parameters[i], final == 'h');
	} else if (modes->middle == ' ' && final == 'q') {
		if (modes->parameters[0] <= 6)
			modes->shape = modes->parameters[0];
	} else if (modes->middle == '!' && final == 'p') {
		/* A soft reset. */
		set_mode(modes, 1, false);
		set_mode(modes, 25, true);
		modes->keypad = false;
	}
}

static void begin_csi(struct screen_modes *modes)
{
	modes->state = SCAN_CSI;
	modes->count = 0;
	modes->parameters[0] = 0;
	modes->private_mark = modes->middle = 0;
}

static void scan_csi(struct screen_modes *modes, char c)
{
	if (c >= '0' && c <= '9') {
		unsigned *value = &modes->parameters[modes->count];

		*value = *value > 99999 ? *value
					: *value * 10 + (unsigned)(c - '0');
	} else if (c == ';' || c == ':') {
		if (modes->count + 1 < SCREEN_MODES_PARAMETERS)
			modes->count++;
		modes->parameters[modes->count] = 0;
	} else if (c >= '<' && c <= '?') {
		modes->private_mark = c;
	} else if (c >= ' ' && c <= '/') {
		modes->middle = c;
	} else if (c >= '@' && c <= '~') {
		end_of_csi(modes, c);
		modes->state = SCAN_TEXT;
	} else if (c == 0x18 || c == 0x1a) {
		modes->state = SCAN_TEXT;
	}
}

static void scan_escape(struct screen_modes *modes, char c)
{
	modes->state = SCAN_TEXT;
	switch (c) {
	case '[':
		begin_csi(modes);
		break;
	case '=':
	case '>':
		modes->keypad = c == '=';
		break;
	case 'c':
		screen_modes_init(modes);
		break;
	default:
		break;
	}
}

void screen_modes_scan(struct screen_modes *modes, const void *bytes,
		       size_t len)
{
	const char *text = bytes;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == 0x1b)
			modes->state = SCAN_ESCAPE;
		else if (modes->state == SCAN_ESCAPE)
			scan_escape(modes, text[i]);
		else if (modes->state == SCAN_CSI)
			scan_csi(modes, text[i]);
	}
}

bool screen_modes_alternate(const struct screen_modes *modes)
{
	for (size_t i = 0; i < ARRAY_SIZE(mode_table); i++) {
		if (mode_table[i].use == USE_ALTERNATE && modes->set >> i & 1)
			return true;
	}
	return false;
}

void screen_modes_draw(const struct screen_modes *modes, struct buffer *out)
{
	for (size_t i = 0; i < ARRAY_SIZE(mode_table); i++) {
		if (mode_table[i].use == USE_INPUT)
			buffer_printf(out, "\033[?%u%c", mode_table[i].number,
				      modes->set >> i & 1 ? 'h' : 'l');
	}
	buffer_printf(out, "\033%c", modes->keypad ? '=' : '>');
}

void screen_modes_draw_cursor(const struct screen_modes *modes,
			      struct buffer *out)
{
	buffer_printf(out, "\033[%u q", modes->shape);
	for (size_t i = 0; i < ARRAY_SIZE(mode_table); i++) {
		if (mode_table[i].use == USE_CURSOR)
			buffer_printf(out, "\033[?%u%c", mode_table[i].number,
				      modes->set >> i & 1 ? 'h' : 'l');
	}
}
