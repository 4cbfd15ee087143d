/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ca.h - the authority of this sandbox, and certificates by it
 *
 * Its certificate is trusted in this sandbox's guest and nowhere else. One for
 * each name that is intercepted is made when it is needed and kept for the
 * next connection; all of them have the same key, made by this process.
 */
#pragma once

#include <openssl/types.h>
#include <stddef.h>

#include "base/list.h"

struct error;

#define CA_CACHE_MAX 256
#define CA_LEAF_SECONDS (7 * 86400)
#define CA_EARLY_SECONDS 86400 /* clocks differ; and renewed as early */

struct ca {
	X509 *certificate;  /* owned; NULL: there is no authority */
	EVP_PKEY *key;      /* owned */
	EVP_PKEY *leaf_key; /* owned */
	SSL_CTX *context;   /* owned: TLS as a server */
	struct list leaves; /* owned, the last used last */
	size_t count;
};

/*
 * Keys come to lie in memory that is locked and wiped: call this before any
 * key is made, and before the lock. Harmless when called again.
 */
void ca_lock_memory(void);
/* PEM. With NULL for both there is no authority, and that is no error. */
int ca_open(struct ca *ca, const char *certificate, const char *key,
	    struct error *err);
void ca_release(struct ca *ca);
/*
 * TLS as the server of this name, for one connection; the caller's. NULL: there
 * is no authority, or no certificate can be made.
 */
SSL *ca_connection(struct ca *ca, const char *name);
