/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_ask.h - what may be asked of a loop while it runs, or afterwards:
 * its state, its tasks, a word to the next iteration
 */
#pragma once

#include <stdbool.h>

struct error;
struct loop_options;
struct options;

bool loop_ask_wanted(const struct options *options);
int loop_ask(const struct options *options, const struct loop_options *wish,
	     struct error *err);
