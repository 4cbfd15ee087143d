/* SPDX-License-Identifier: Apache-2.0 */
/*
 * line_diff.h - which lines of two texts differ; pure
 *
 * E. W. Myers' greedy algorithm, with a bound: texts that differ by more are
 * said to differ from the first to the last difference, which is right and
 * only not the shortest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct line_text {
	const char *bytes;
	size_t len;
	/* owned: where each line begins, and the end */
	size_t *starts;
	size_t count;
};

/* Lines `at` of the old text, `count` many, become those of the new one. */
struct line_change {
	size_t old_at, old_count, new_at, new_count;
};

struct line_diff {
	struct line_text old_text, new_text;
	struct line_change *changes; /* owned; in order, with a gap between */
	size_t count, room;
};

/* The texts are borrowed. */
void line_diff_make(struct line_diff *diff, const char *old_bytes,
		    size_t old_len, const char *new_bytes, size_t new_len);
void line_diff_release(struct line_diff *diff);
#define AUTO_LINE_DIFF __attribute__((cleanup(line_diff_release)))

/* How many lines were taken away and added. */
void line_diff_stat(const struct line_diff *diff, size_t *removed,
		    size_t *added);

/* A NUL near the beginning, as git tells it. */
bool line_diff_is_binary(const char *bytes, size_t len);
