/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_tls.h - an end that is TLS over another end
 */
#pragma once

#include <openssl/types.h>

struct authority;
struct end;
struct ends;

/*
 * Speaks first. The new end owns lower, is connected when the peer has proved
 * to be `peer` by a certificate that the context trusts, and has an error when
 * it does not. NULL when it cannot begin; lower is closed then.
 */
struct end *end_tls_client(struct ends *ends, struct end *lower,
			   SSL_CTX *context, const struct authority *peer);
