/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_tls.h - an end that is TLS over another end
 */
#pragma once

#include <openssl/types.h>

struct authority;
struct end;
struct ends;
struct tls_sessions;

/* What is spoken inside, as the two sides agreed (ALPN). */
enum end_tls_protocol {
	END_TLS_HTTP2,
	END_TLS_HTTP1, /* also when nothing was said about it */

	END_TLS_PROTOCOLS,
};

enum end_tls_use {
	END_TLS_BYTES, /* no word about what is spoken inside */
	END_TLS_HTTP,  /* one of the above */
	END_TLS_HTTP_1,
};

/*
 * Speaks first. The new end owns lower, is connected when the peer has proved
 * to be `peer` by a certificate that the context trusts, and has an error when
 * it does not. NULL when it cannot begin; lower is closed then. sessions, which
 * outlives the end, is where one is taken from and kept in; NULL: none is.
 */
struct end *end_tls_client(struct ends *ends, struct end *lower,
			   SSL_CTX *context, const struct authority *peer,
			   enum end_tls_use use, struct tls_sessions *sessions);
/*
 * Answers a client, whose first bytes may be in lower already; HTTP is spoken
 * inside. Takes ssl, see ca.h, and lower.
 */
struct end *end_tls_server(struct ends *ends, struct end *lower, SSL *ssl);
/* Gives the end up, and back what it was made of. */
struct end *end_tls_strip(struct end *end);
/* Of an end that is connected. */
enum end_tls_protocol end_tls_protocol(const struct end *end);
