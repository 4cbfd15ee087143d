/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trust.h - whom the host trusts, and TLS as a client by that
 *
 * The file with the host's certificates is opened before this process gives up
 * the file system, and read when the first connection needs it. Before each
 * new one, but not more than once a second, it is asked whether it changed; one
 * that was replaced (as update-ca-certificates does) has to be sent by somebody
 * who can open it.
 */
#pragma once

#include <openssl/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "net/tls_sessions.h"

struct error;

struct trust {
	int fd;                       /* owned; -1: the host has no such file */
	SSL_CTX *context;             /* owned; NULL until it is needed */
	struct tls_sessions sessions; /* with servers that it has verified */
	struct stat read;             /* the file, as it was then */
	uint64_t looked_ms;
	bool asked; /* on_gone() was called */
	/* The file was replaced; trust_use() is wanted. NULL: nobody can. */
	void (*on_gone)(void *ctx);
	void *ctx;
};

/* Before the lock: also makes the library read what it wants to read. */
int trust_open(struct trust *trust, struct error *err);
void trust_release(struct trust *trust);
/* Takes fd: another file, which is in force from the next connection on. */
void trust_use(struct trust *trust, int fd);
/* Borrowed; verifies peers against the host's certificates. NULL: it cannot. */
SSL_CTX *trust_context(struct trust *trust);
