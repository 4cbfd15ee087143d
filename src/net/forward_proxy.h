/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward_proxy.h - the proxy that a guest finds at host.docker.internal:3128
 *
 * For clients that want one. The same policy: a proxied request is decided like
 * one on a connection to its host, and a tunnel made by CONNECT is a connection
 * like any other, with what is peeked at there.
 */
#pragma once

struct exchange;
struct gate;
struct end;
struct http_request;

/* A connection of the guest to the proxy. Takes client. */
void forward_proxy_open(struct gate *gate, struct end *client, unsigned stream);

/* Sets the target. NULL: it may be decided about; else why not. */
const char *forward_proxy_check(struct exchange *exchange,
				const struct http_request *request);
/* CONNECT was allowed. */
void forward_proxy_accept(struct exchange *exchange);
