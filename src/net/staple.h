/* SPDX-License-Identifier: Apache-2.0 */
/*
 * staple.h - what an authority says about a server's certificate (OCSP)
 *
 * Servers may bring a fresh statement of their authority with them (stapling,
 * RFC 6066). Nobody else is asked: that would tell the authority who is
 * visited, and fails too often to mean something. So one that says "revoked"
 * counts, and so does a missing one where the certificate promised it (RFC
 * 7633); where it was not promised, an attacker would just leave it out.
 */
#pragma once

#include <openssl/types.h>

/* For a context of clients: asks for a statement and judges it. */
int staple_use(SSL_CTX *context);
