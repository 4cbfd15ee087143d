/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_server.h - requests to an HTTP/1 server, and its responses
 */
#pragma once

#include "net/exchange.h"
#include "wire/http1_body.h"

struct end;
struct http;

enum http1_server_state {
	HTTP1_SERVER_NONE, /* there is no connection */
	HTTP1_SERVER_IDLE, /* a request may be sent; whatever comes is wrong */
	HTTP1_SERVER_HEAD, /* a request was begun, no final response yet */
	HTTP1_SERVER_BODY, /* the response's body passes */
};

struct http1_server {
	struct http_server base;
	struct http *http;
	struct end *end; /* owned; NULL: none */
	enum http1_server_state state;
	bool absolute; /* it is a proxy of the host, which reads requests */
	char *login;   /* owned: for that proxy; or NULL */
	bool reused;   /* it had a request before this one */
	bool heard;    /* some of the response came */
	bool keep;     /* it goes on after the response */
	bool chunked;  /* so the request's body is written */
	size_t scanned;
	struct http1_body body;
};

void http1_server_init(struct http1_server *server, struct http *http);
/* Takes end and login. */
void http1_server_use(struct http1_server *server, struct end *end,
		      bool absolute, char *login);
void http1_server_close(struct http1_server *server);
/* Takes from the server's end what the client has room for. */
void http1_server_run(struct http1_server *server);
bool http1_server_is_idle(const struct http1_server *server);
