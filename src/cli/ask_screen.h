/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_screen.h - a question on a terminal that belongs to a guest's program
 *
 * The program may have left the terminal in any state, in the middle of a
 * sequence too, and may draw whatever it likes, a question that looks like
 * ours as well. So the question is drawn on a terminal that is first brought to
 * a known state, on the other screen, while nothing of the guest's gets
 * through; it carries the user's mark, which no guest has ever seen; and keys
 * count only after a pause, so that nobody answers by what was typed for
 * something else. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/ask.h"

struct buffer;

struct ask_view {
	const char *sandbox;
	const char *mark;
	size_t more; /* questions that wait behind this one */
	uint16_t rows, cols;
	bool again; /* the picture is there, and nobody else wrote since */
	bool ready; /* keys count now */
};

/* The whole screen; if not `again`, from any state of the terminal. */
void ask_screen_draw(const struct ask *ask, const struct ask_view *view,
		     struct buffer *out);
/* Back to the screen that was there; what is on it is drawn anew afterwards. */
void ask_screen_leave(struct buffer *out);

#define ASK_QUIET_MS 700

struct ask_keys {
	int64_t ready_ms; /* nothing that is typed before counts */
};

void ask_keys_begin(struct ask_keys *keys, int64_t now_ms);
/* What was typed; one key alone, after the pause, is a choice. */
enum ask_choice ask_keys_take(struct ask_keys *keys, const uint8_t *typed,
			      size_t len, int64_t now_ms);
/* Whether keys count now. */
bool ask_keys_ready(const struct ask_keys *keys, int64_t now_ms);
