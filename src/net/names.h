/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h - which synthetic address stands for which name
 *
 * A guest gets an address of our own for each name it asks for, and a
 * connection to that address is a connection to that name. An address is given
 * once in a sandbox's life: whoever remembered one for a week still means the
 * same name. So each is written to a file before it is told, one line
 * `ADDRESS NAME`, and read back at the start.
 *
 * Names that a rule allows and other names have ranges of their own: a guest
 * that asks for names until the pool is empty keeps those that it may reach.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address;
struct error;

enum names_range {
	NAMES_MATCHED, /* 198.18.0.0/16 */
	NAMES_OTHER,   /* 198.19.0.0/17 */

	NAMES_RANGES,
};

enum {
	NAMES_MATCHED_MAX = 65535, /* without the first address */
	NAMES_OTHER_MAX = 32767,
};

struct name_entry;

struct names {
	int fd; /* borrowed; -1: nothing is kept */
	struct {
		struct name_entry **list; /* owned, and so is each */
		uint32_t count, capacity;
	} ranges[NAMES_RANGES];
	struct name_entry **buckets; /* owned: by name */
	uint64_t secret;
	bool unwritable; /* the file ends in a part of a line */
};

/*
 * Reads the file back. A last line that is cut is removed; anything else that
 * is not as it was written is an error that names the line.
 */
int names_open(struct names *names, int fd, struct error *err);
void names_release(struct names *names);

/*
 * The address of a canonical name, which gets one of that range when it has
 * none. -1: the range is full (err->code ENOSPC), or the file cannot be
 * written.
 */
int names_address(struct names *names, const char *name, enum names_range range,
		  struct address *out, struct error *err);
/* NULL: nobody was told this address. Valid until names_release(). */
const char *names_find(const struct names *names,
		       const struct address *address);
/* Inside 198.18.0.0/15, given or not, reserved ones too. */
bool names_is_ours(const struct address *address);
size_t names_count(const struct names *names);
