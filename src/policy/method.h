/* SPDX-License-Identifier: Apache-2.0 */
/*
 * method.h - HTTP methods as bits
 *
 * A method that is not in the table, or not in upper case, is METHOD_OTHER:
 * servers disagree about what `post` is, so a rule that allows POST does not
 * mean it, and a rule that denies POST does.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define METHOD_OTHER (1u << 31)
#define METHODS_ALL UINT32_MAX
/* Every name of the table and a comma for each. */
#define METHODS_TEXT_SIZE 192

uint32_t method_bit(const char *method);
/* "GET,head": known ones in either case; -1: not a list of such. */
int method_list_parse(const char *text, size_t len, uint32_t *methods);
/* In the table's order, so that equal sets have equal text. */
void method_list_format(uint32_t methods, char out[METHODS_TEXT_SIZE]);
