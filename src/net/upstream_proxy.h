/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upstream_proxy.h - the way through the host's own proxy
 *
 * A connected end of the proxy becomes one of the target: TLS where the proxy
 * wants it, then CONNECT or SOCKS 5. The proxy resolves the name.
 */
#pragma once

#include <stdbool.h>

#include "net/proxy_url.h"

struct config;
struct end;
struct gate;
struct handshake;
struct target;

/* end: now of the target, the receiver's; NULL: failed, why (static). */
typedef void handshake_fn(void *ctx, struct end *end, const char *why);

/*
 * NULL: this target is reached without one. For plain requests (is_http) the
 * proxy of the scheme http is meant, else that of https.
 */
const struct proxy_url *upstream_proxy_for(const struct config *config,
					   const struct target *target,
					   bool is_http);
/* It reads requests itself, in absolute form; no tunnel is needed. */
bool upstream_proxy_takes_requests(const struct proxy_url *proxy);
/* The value of Proxy-Authorization, to be freed; NULL: no login. */
char *upstream_proxy_login(const struct proxy_url *proxy);

/*
 * Takes end. With no target it only does what comes before requests: TLS. The
 * proxy is copied. fn as of connect_start().
 */
struct handshake *handshake_start(struct gate *gate,
				  const struct proxy_url *proxy,
				  struct end *end, const struct target *target,
				  handshake_fn *fn, void *ctx);
void handshake_cancel(struct handshake *handshake);
