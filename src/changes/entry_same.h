/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry_same.h - whether the host has what the guest has
 */
#pragma once

#include <stdbool.h>

struct change_set;
struct set_entry;
struct stat;

/* Of a file of the set and name in the folder at, a file of the same size; one
 * that cannot be read differs. */
bool entry_same_content(const struct change_set *set,
			const struct set_entry *entry, int at,
			const char *name);
/* Content, permissions and attributes; st becomes the host's. */
bool entry_same_file(const struct change_set *set,
		     const struct set_entry *entry, int at, const char *name,
		     struct stat *st);
/* Of a link. */
bool entry_same_target(const struct set_entry *entry, int at, const char *name);
bool entry_same_attributes(const struct set_entry *entry, int at,
			   const char *name);
