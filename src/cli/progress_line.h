/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress_line.h - a line of progress that fits a terminal
 *
 * How far something is matters more than what it is called: names are cut and
 * bars become shorter before numbers are lost.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct progress_part;

/* More than the widest line has, whatever the terminal's width is. */
#define PROGRESS_LINE_MAX 256

/* A step: what it is, its bar when total is known, how long it takes. */
void progress_line_step(const char *text, uint64_t done, uint64_t total,
			uint64_t elapsed_ms, unsigned width,
			char line[PROGRESS_LINE_MAX]);
/* One of the step's parts. */
void progress_line_part(const struct progress_part *part, unsigned width,
			char line[PROGRESS_LINE_MAX]);
