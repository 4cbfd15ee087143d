/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guard_file.h - data/guard and the user's additions to it
 *
 * A line is a class (held, free or shown) and a pattern; `#` begins a comment
 * line. What the classes and patterns mean is in data/guard itself.
 */
#pragma once

#include <stddef.h>

struct error;

#define GUARD_FILE_PATTERNS_MAX 448 /* bawn-files takes some more */
#define GUARD_FILE_PATTERN_BYTES_MAX 250

/* As bawn-files wants them: an exception is a held one with `!` in front. */
struct guard_file {
	char **held, **shown; /* owned, and what they point to */
	size_t held_count, shown_count;
};

/* Adds lines; name is for messages. Pure but for the memory. */
int guard_file_parse(struct guard_file *file, const char *text, size_t len,
		     const char *name, struct error *err);
/* The installed file, then `guard` in the configuration folder if it exists. */
int guard_file_load(struct guard_file *file, struct error *err);
void guard_file_release(struct guard_file *file);
