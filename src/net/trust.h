/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h - whom the host trusts, and TLS as a client by that
 *
 * The file with the host's certificates is opened before this process gives up
 * the file system, and read when the first connection needs it.
 */
#pragma once

#include <openssl/types.h>

#include "net/tls_sessions.h"

struct error;

struct trust {
	int fd;                       /* owned; -1: the host has no such file */
	SSL_CTX *context;             /* owned; NULL until it is needed */
	struct tls_sessions sessions; /* with servers that it has verified */
};

/* Before the lock: also makes the library read what it wants to read. */
int trust_open(struct trust *trust, struct error *err);
void trust_release(struct trust *trust);
/* Borrowed; verifies peers against the host's certificates. NULL: it cannot. */
SSL_CTX *trust_context(struct trust *trust);
