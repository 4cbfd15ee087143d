/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_modes.c - follows DECSET, DECRST, keypad, cursor shape and resets
 */
#include "supervisor/screen_modes.h"

#include "base/buffer.h"
#include "base/own.h"
#include "supervisor/screen_scan.h"

enum mode_use {
	USE_INPUT, /* changes what keys and mouse send */
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
	{ 1006, USE_INPUT, false }, { 1015, USE_INPUT, false },
	{ 2004, USE_INPUT, false }, /* bracketed paste */
	{ 25, USE_CURSOR, true },   /* visible */
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

static void follow_csi(struct screen_modes *modes,
		       const struct screen_sequence *sequence)
{
	char final = sequence->final;

	if (sequence->private_mark == '?' && (final == 'h' || final == 'l')) {
		for (unsigned i = 0; i < sequence->count; i++)
			set_mode(modes, sequence->parameters[i], final == 'h');
	} else if (sequence->middle == ' ' && final == 'q') {
		if (sequence->parameters[0] <= 6)
			modes->shape = sequence->parameters[0];
	} else if (sequence->middle == '!' && final == 'p') {
		/* A soft reset. */
		set_mode(modes, 1, false);
		set_mode(modes, 25, true);
		modes->keypad = false;
	}
}

void screen_modes_follow(struct screen_modes *modes,
			 const struct screen_sequence *sequence)
{
	if (sequence->csi)
		follow_csi(modes, sequence);
	else if (sequence->middle)
		return;
	else if (sequence->final == '=' || sequence->final == '>')
		modes->keypad = sequence->final == '=';
	else if (sequence->final == 'c')
		screen_modes_init(modes);
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
