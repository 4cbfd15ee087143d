/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attributes.h - the extended attributes of a file that changes are about
 *
 * Those of user.* alone: others give rights.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tar/tar.h"

struct error;

struct attributes {
	struct tar_xattr *items; /* owned, with all they point to; by name */
	size_t count;
};

/* Of an archive's entry; fails when a name comes twice. */
int attributes_copy(struct attributes *attributes,
		    const struct tar_entry *entry, struct error *err);
/*
 * Of name in the folder at, with no link followed at its end. What cannot be
 * read is not there.
 */
void attributes_read(struct attributes *attributes, int at, const char *name);
void attributes_release(struct attributes *attributes);
#define AUTO_ATTRIBUTES __attribute__((cleanup(attributes_release)))

/* NULL when there is none of this name. */
const struct tar_xattr *attributes_find(const struct attributes *attributes,
					const char *name);
/* Both are there and have the same value. */
bool attributes_same_value(const struct tar_xattr *a,
			   const struct tar_xattr *b);
bool attributes_same(const struct attributes *a, const struct attributes *b);
/* How much they take. */
size_t attributes_size(const struct attributes *attributes);
/* 0 when there are none; equal ones have the same. */
uint64_t attributes_hash(const struct attributes *attributes);

/*
 * Makes those of an open file the wanted ones, or leaves them as they were:
 * -1 with errno.
 */
int attributes_set(int fd, const struct attributes *now,
		   const struct attributes *wanted);
