/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.h - from a target that policy allowed to a connected end
 *
 * Resolves (the host's table, then its servers), asks policy about each
 * address, tries them in parallel with a small delay (RFC 8305), or goes
 * through the host's proxy. What was resolved here is what is connected to: no
 * second answer can differ.
 */
#pragma once

#include <stdbool.h>

#include "wire/address.h"

struct connecting;
struct decision;
struct end;
struct gate;
struct target;

enum connect_use {
	CONNECT_BYTES, /* of any protocol */
	CONNECT_HTTP,  /* plain requests, which a proxy may take as such */
	CONNECT_HTTPS, /* requests in TLS with a server that proved its name */
	CONNECT_HTTPS_1, /* the same, and it may not choose HTTP/2 */
};

struct connected {
	struct end *end;        /* the receiver's now; NULL: it failed */
	struct address address; /* of the server; family 0: a proxy knows it */
	bool by_proxy;
	bool absolute;      /* requests name the host: a proxy reads them */
	char *login;        /* the receiver's: for that proxy; NULL: none */
	bool denied;        /* by policy, for its address */
	int code;           /* errno of a failure */
	const char *reason; /* of a failure, static */
};

typedef void connect_fn(void *ctx, const struct connected *result);

/*
 * fn is called once, never before this returns, and not after
 * connect_cancel(). NULL when too many are being made already.
 */
struct connecting *connect_start(struct gate *gate, const struct target *target,
				 const struct decision *decision,
				 enum connect_use use, connect_fn *fn,
				 void *ctx);
/* Why a request may not go on through the host's proxy. */
#define CONNECT_NOT_BY_PROXY "only a rule for this very host passes a proxy"
bool connect_is_by_proxy(const struct connecting *connecting);
void connect_cancel(struct connecting *connecting);
