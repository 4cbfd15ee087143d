/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_header.h - the 512 bytes in front of each entry, and their numbers
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tar/tar.h"

/* POSIX.1-1988, byte for byte. */
struct tar_header {
	char name[100], mode[8], uid[8], gid[8], size[12], mtime[12];
	char checksum[8], type, target[100], magic[6], version[2];
	char user[32], group[32], major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct tar_header) == TAR_BLOCK, "a block");

#define TAR_PAX_NOTE "BAWN.note"
#define TAR_PAX_XATTR "SCHILY.xattr."
/* In the name of an attribute: the key of a record ends at its first "=". */
#define TAR_PAX_EQUALS "%3D"
#define TAR_PAX_PERCENT "%25"

/* Octal, zero-filled; false when it does not fit (the field is 0 then). */
bool tar_header_put(char *field, size_t size, uint64_t value);
/* Octal, or base-256 as GNU writes it; an empty field is 0. -1 otherwise. */
int tar_header_get(const char *field, size_t size, int64_t *value);
unsigned tar_header_sum(const struct tar_header *header);
