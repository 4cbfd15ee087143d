/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hosts_table.c - the host's own table of names, asked before any server
 */
#include "net/hosts_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "wire/hostname.h"

void hosts_table_release(struct hosts_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->entries[i].name);
	free(table->entries);
	*table = (struct hosts_table){ 0 };
}

void hosts_table_add(struct hosts_table *table, const char *name,
		     const char *address)
{
	char canonical[HOSTNAME_MAX + 1];
	struct address parsed;

	if (hostname_canonical(name, strlen(name), canonical) < 0 ||
	    address_parse(address, strlen(address), &parsed) < 0)
		return;
	if (table->count == table->capacity) {
		table->capacity = table->capacity ? table->capacity * 2 : 16;
		table->entries =
			xrealloc(table->entries,
				 table->capacity * sizeof(*table->entries));
	}
	table->entries[table->count] =
		(struct hosts_entry){ .name = xstrdup(canonical),
				      .address = parsed,
				      .order = (unsigned)table->count };
	table->count++;
}

static int compare(const void *left, const void *right)
{
	const struct hosts_entry *a = left, *b = right;
	int by_name = strcmp(a->name, b->name);

	if (by_name)
		return by_name;
	return a->order < b->order ? -1 : a->order > b->order;
}

void hosts_table_sort(struct hosts_table *table)
{
	if (table->count)
		qsort(table->entries, table->count, sizeof(*table->entries),
		      compare);
}

/* Index of the first entry that does not come before name. */
static size_t first_of(const struct hosts_table *table, const char *name)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(table->entries[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t hosts_table_find(const struct hosts_table *table, const char *name,
			struct address *out, size_t max)
{
	size_t at = first_of(table, name), count = 0;

	while (count < max && at < table->count &&
	       strcmp(table->entries[at].name, name) == 0)
		out[count++] = table->entries[at++].address;
	return count;
}
