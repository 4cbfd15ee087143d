/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sha1.h - SHA-1, for a file format that ends with one
 *
 * Nobody's safety depends on it: Java's list of authorities wants it there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define SHA1_BYTES 20

struct sha1 {
	uint32_t state[5];
	uint64_t len; /* bytes so far */
	uint8_t block[64];
};

void sha1_init(struct sha1 *sha1);
void sha1_add(struct sha1 *sha1, const void *bytes, size_t len);
/* sha1 is of no use afterwards; a copy of it may go on. */
void sha1_finish(struct sha1 *sha1, uint8_t out[SHA1_BYTES]);
