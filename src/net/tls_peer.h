/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_peer.h - who the server of a TLS connection has proved to be
 */
#pragma once

#include <openssl/types.h>
#include <stdbool.h>

struct authority;
struct ssl_session_st; /* OpenSSL's SSL_SESSION */

/* Before the handshake: whose certificate is wanted. -1: it cannot be said. */
int tls_peer_expect(SSL *ssl, const struct authority *peer);
/*
 * After it: a certificate that the host trusts names the peer. Asked of what
 * was done, not of what was meant to be done; also of a session that is used
 * again, for which no certificate came.
 */
bool tls_peer_is_verified(SSL *ssl);
/* The session is about this peer, and may be used for it now. */
bool tls_peer_fits(struct ssl_session_st *session,
		   const struct authority *peer);
/* Why a certificate was not taken; static. result: of the verification. */
const char *tls_peer_problem(long result);
