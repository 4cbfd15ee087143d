/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hash.h - digests of content, by the name of their algorithm
 */
#pragma once

#include <stddef.h>

#include "oci/digest_name.h"

struct hash;

/* "sha256" or "sha512". The first one reads OpenSSL's configuration. */
struct hash *hash_new(const char *algorithm);
void hash_free(struct hash *hash);
void hash_add(struct hash *hash, const void *bytes, size_t len);
/* Of all so far; the hash begins anew. */
void hash_finish(struct hash *hash, char name[DIGEST_NAME_MAX]);
/* Of these bytes, by SHA-256 or by the algorithm that `like` is named by. */
void hash_bytes(const void *bytes, size_t len, const char *like,
		char name[DIGEST_NAME_MAX]);
