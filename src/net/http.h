/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.h - a client's connection that carries requests
 *
 * Each request is decided on its own, also the hundredth on a connection that
 * was kept. The server's connection is kept as long as requests go to the same
 * target.
 */
#pragma once

#include <stdbool.h>

#include "net/deadline.h"
#include "net/exchange.h"
#include "net/http1_client.h"
#include "net/servers.h"

struct end;
struct flow;
struct h2_client;

enum http_mode {
	HTTP_ORIGIN, /* a connection to one target */
	HTTP_PROXY,  /* our forward proxy: each request names its target */
};

struct http {
	struct flow *flow;
	enum http_mode mode;
	bool heard;     /* a request, good or bad */
	bool over;      /* the flow goes on without it, or not at all */
	size_t memory;  /* in streams of HTTP/2, on both sides */
	uint64_t moved; /* grows while there may be more to do */
	struct deadline again;
	struct h2_client *h2;       /* owned; NULL: the client speaks HTTP/1 */
	struct http1_client client; /* unused with HTTP/2 */
	struct servers servers;
	struct list serving; /* exchanges, from the cache of layers */
};

/* The flow keeps the client's end. */
struct http *http_new(struct flow *flow, enum http_mode mode);
/* Forgets it, with the server's end, after this round. */
void http_free(struct http *http);
/* Something changed at one of the ends: goes as far as it can. */
void http_run(struct http *http);
void http_on_client(struct http *http);
/* A head took too long. */
void http_on_deadline(struct http *http);
void http_recheck(struct http *http);
/* For a flow that ends by force: what is under way is logged. */
void http_log_end(struct http *http, const char *reason);

/* For the exchange. */
/*
 * The response to an upgrade was passed on: bytes from now on. Takes server,
 * which was the exchange's.
 */
void http_become_tunnel(struct exchange *exchange, struct end *server);
/* CONNECT was allowed: the flow begins anew, with that target. */
void http_become_flow(struct exchange *exchange);
