/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print.h - JSON and questions
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* Indented, with a newline, on stdout. */
void print_json(const json_t *value);
/*
 * Asks on the terminal; true for y or yes. What was typed before the question
 * appeared does not count.
 */
bool print_ask(const char *question);
