/* SPDX-License-Identifier: Apache-2.0 */
/*
 * java_store.h - a list of authorities in the form that Java reads (JKS)
 *
 * A header with the number of entries, the entries, and a SHA-1 over them and
 * the password, which is the same everywhere and no secret. The last entry is
 * the authority of this sandbox: all before it is made once, and its hash is
 * kept, so that adding the last one costs next to nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "guest/sha1.h"

#define JAVA_STORE_BYTES_MAX (4u * 1024 * 1024)
#define JAVA_STORE_CERTIFICATE_MAX 16384u /* one of them */

struct java_store {
	size_t len;       /* bytes before the last entry */
	struct sha1 hash; /* of them */
};

/*
 * Header and all certificates of a PEM text, in *out, which is empty; what is
 * no certificate is left out. The last entry has to follow. -1: too long.
 */
int java_store_begin(const char *pem, size_t len, struct buffer *out,
		     struct java_store *store);
/* The last entry, from PEM, and the hash. -1: it is none. */
int java_store_end(const struct java_store *store, const char *pem, size_t len,
		   struct buffer *out);
/* The list ends with this authority already. */
bool java_store_has(const void *list, size_t list_len, const char *pem,
		    size_t len);
/*
 * A whole list that somebody else made: *out is the same with this authority
 * as the last entry, in the place of one of ours that was the last already.
 * -1: it is not of this form, and *out is of no use.
 */
int java_store_add(const void *list, size_t list_len, const char *pem,
		   size_t len, struct buffer *out);
