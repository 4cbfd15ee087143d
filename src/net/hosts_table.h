/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts_table.h - the host's own table of names, asked before any server
 *
 * A sorted array; built once from the settings, then only read. Pure.
 */
#pragma once

#include <stddef.h>

#include "wire/address.h"

struct hosts_entry {
	char *name; /* owned, canonical */
	struct address address;
	unsigned order; /* in which they were added */
};

struct hosts_table {
	struct hosts_entry *entries; /* owned */
	size_t count, capacity;
};

void hosts_table_release(struct hosts_table *table);
/* What is no name or no address is passed over: such lines exist. */
void hosts_table_add(struct hosts_table *table, const char *name,
		     const char *address);
/* After the last one was added. */
void hosts_table_sort(struct hosts_table *table);
/* At most max, in the order of the table; returns how many. */
size_t hosts_table_find(const struct hosts_table *table, const char *name,
			struct address *out, size_t max);
