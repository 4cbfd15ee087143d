/* SPDX-License-Identifier: Apache-2.0 */
/*
 * screen_scan.h - terminal output cut into text and whole, sane sequences
 *
 * Strings (OSC, DCS, APC, PM, SOS) set titles and clipboards, which a picture
 * does not have: they end here. A sequence that is longer than any program
 * writes is dropped. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCREEN_SCAN_PARAMETERS 32
#define SCREEN_SCAN_DIGITS 4

struct screen_sequence {
	char final;        /* 'm' of ESC [ 1 m, 'c' of ESC c */
	bool csi;          /* begins with ESC [ */
	char private_mark; /* '?', '<', '=', '>' or 0 */
	char middle;       /* last intermediate, ' ' of ESC [ 4 SP q, or 0 */
	unsigned parameters[SCREEN_SCAN_PARAMETERS];
	unsigned count;  /* of parameters, at least 1 */
	uint32_t colons; /* bit i: parameter i came after a colon */
};

struct screen_scan {
	/* Text and single control characters. */
	void (*on_text)(void *ctx, const char *bytes, size_t len);
	void (*on_sequence)(void *ctx, const struct screen_sequence *sequence);
	void *ctx;

	/* private */
	int state;
	unsigned digits; /* of the parameter */
	bool marked;     /* something of the CSI was seen */
	bool bad;        /* goes on to its end and is dropped */
	struct screen_sequence sequence;
};

void screen_scan(struct screen_scan *scan, const void *bytes, size_t len);
