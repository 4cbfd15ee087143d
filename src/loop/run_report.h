/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_report.h - a run of the loop, for people to read
 *
 * What an agent and its network chose stands in it, so that everything is
 * escaped for where it stands. The HTML needs nothing from elsewhere: no
 * script, and a plot that is drawn in it.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

struct buffer;
struct run_state;

#define RUN_REPORT_MAX ((size_t)16 * 1024 * 1024)

/* records is the list of run_history_load(). -1: too long. */
int run_report_markdown(const struct run_state *state, const json_t *records,
			struct buffer *out);
int run_report_html(const struct run_state *state, const json_t *records,
		    struct buffer *out);
