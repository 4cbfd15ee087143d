/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_mark.h - the words by which a user knows bawn's own questions
 *
 * Made once at random and kept in config/ask-mark, which no guest sees: what a
 * guest draws cannot carry them. Somebody who wants other words edits the file.
 */
#pragma once

#include <stdbool.h>

struct error;

#define ASK_MARK_SIZE 65

/* *is_new: nobody has seen it yet. */
int ask_mark_load(char mark[ASK_MARK_SIZE], bool *is_new, struct error *err);
