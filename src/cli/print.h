/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.h - JSON, questions, warnings
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Indented, with a newline, on stdout. */
void print_json(const json_t *value);
/* The "warning" of a supervisor's answer, where there is one, on stderr. */
void print_warning_of(const json_t *answer);
/*
 * Asks on the terminal; true for y or yes. What was typed before the question
 * appeared does not count.
 */
bool print_ask(const char *question);
