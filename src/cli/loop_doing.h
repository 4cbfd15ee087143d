/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_doing.h - what the loop of a sandbox is doing now, for `bawn ls`
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define LOOP_DOING_MAX 120

/* folder is that of the loop's state; details are those of "iteration". */
void loop_doing_note(int folder, unsigned attempt, const json_t *details);
/* "iteration 2/30: A-1: title"; false when no loop runs in that sandbox. */
bool loop_doing_of(const char *sandbox, char out[LOOP_DOING_MAX]);
