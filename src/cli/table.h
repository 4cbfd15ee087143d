/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - aligned columns on stdout
 *
 * Cells are made printable: names of folders and reasons may hold anything.
 * The heading is bold on a terminal, unless NO_COLOR is set.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct table;

/* headings: NULL-terminated, borrowed. */
struct table *table_new(const char *const *headings);
void table_free(struct table *table);
/* One cell of the current row; a row is complete by itself. */
void table_cell(struct table *table, const char *text);
void table_print(const struct table *table);
/* Without the headings. */
void table_print_rows(const struct table *table);

/* "3 minutes ago"; dst has at least 32 bytes. */
void table_ago(int64_t then, char *dst, size_t size);
/* RFC 3339 in UTC. */
void table_time(int64_t when, char *dst, size_t size);
