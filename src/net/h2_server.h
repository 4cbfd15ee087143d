/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_server.h - requests to an HTTP/2 server, and its responses
 */
#pragma once

#include "net/exchange.h"
#include "net/h2_session.h"

struct end;
struct http;

struct h2_server {
	struct h2_session session;
	struct http *http;
	struct end *end; /* owned */
	struct address address;
	bool by_proxy;
	bool reused; /* it had a request that was answered */
};

/* Takes end. */
struct h2_server *h2_server_new(struct http *http, struct end *end);
/* What is under way on it has been left or told before. */
void h2_server_free(struct h2_server *server);
/* It takes requests, perhaps not now. */
bool h2_server_is_good(const struct h2_server *server);
/* Neither requests nor responses: it can go. */
bool h2_server_is_over(const struct h2_server *server);
/* For one exchange; NULL: not now. */
struct http_server *h2_server_open(struct h2_server *server);
/* Takes from the server's end what the clients have room for. */
void h2_server_run(struct h2_server *server);
/* Its address is closed from now on. */
void h2_server_revoke(struct h2_server *server);
