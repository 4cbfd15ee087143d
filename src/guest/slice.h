/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slice.h - walking over foreign text without copying or changing it
 *
 * For the files of a template (passwd, group) and of /proc: every step is
 * bounded by the text's length, and NUL bytes have no meaning.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct slice {
	const char *start;
	size_t len;
};

struct slice slice_of(const char *text); /* up to the NUL */
/*
 * Cuts the part before the separator off the front of rest. The last part is
 * what is left. False when rest was used up before (rest->start is NULL).
 */
bool slice_cut(struct slice *rest, char separator, struct slice *part);
/* Next line of text without its newline; false at the end. */
bool slice_line(struct slice *text, struct slice *line);
struct slice slice_trim(struct slice slice); /* spaces and tabs at the ends */
bool slice_equals(struct slice slice, const char *text);
/* -1 when it does not fit or contains a NUL; dst is then empty. */
int slice_copy(struct slice slice, char *dst, size_t size);
/* Decimal digits only; -1 otherwise or when over max. */
int slice_number(struct slice slice, uint64_t max, uint64_t *out);
