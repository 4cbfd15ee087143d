/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tls_sessions.h - TLS sessions with servers, for who connects again soon
 *
 * A server that has proved its name gives a session; the next connection to
 * it may begin with that one, and needs no certificate and no signature then.
 * What was proved counts for a short time from the proof on, however often the
 * session was renewed in between: so what the host no longer trusts, or an
 * authority has revoked, is refused soon.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "wire/authority.h"

struct ssl_session_st; /* OpenSSL's SSL_SESSION */

/* In all, and with one server: as many as come back at the same time. */
#define TLS_SESSIONS_MAX 128
#define TLS_SESSIONS_EACH 16
#define TLS_SESSIONS_MS (5u * 60 * 1000)

struct tls_sessions {
	struct list all; /* owned, the newest last */
	size_t count;
};

void tls_sessions_init(struct tls_sessions *sessions);
/* None is left. Also before the first use, and again. */
void tls_sessions_clear(struct tls_sessions *sessions);
/* Takes session, which was proved at that time (loop_now_ms()). */
void tls_sessions_keep(struct tls_sessions *sessions,
		       const struct authority *peer,
		       struct ssl_session_st *session, uint64_t proved_ms);
/*
 * The caller's; NULL: none. One of TLS 1.3 is given away once, as that wants
 * it. When it was proved is in *proved_ms.
 */
struct ssl_session_st *tls_sessions_take(struct tls_sessions *sessions,
					 const struct authority *peer,
					 uint64_t now_ms, uint64_t *proved_ms);
