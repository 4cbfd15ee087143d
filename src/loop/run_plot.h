/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_plot.h - time, tokens and cost of each iteration as bars, in SVG or text
 */
#pragma once

#include <jansson.h>

struct buffer;

/* Numbers alone go in: nothing of it needs escaping. */
void run_plot(const json_t *records, struct buffer *out);
/* A block of Markdown, with a line for each iteration. */
void run_plot_text(const json_t *records, struct buffer *out);
