/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http1_client.h - requests of an HTTP/1 client, and responses to it
 */
#pragma once

#include "net/exchange.h"
#include "wire/http1_body.h"

struct http;

enum http1_client_state {
	HTTP1_CLIENT_HEAD, /* a request may begin; half of one times out */
	HTTP1_CLIENT_HELD, /* its head is whole and being decided about */
	HTTP1_CLIENT_BODY, /* the body passes */
	HTTP1_CLIENT_WAIT, /* the request is done, the response is not */
	HTTP1_CLIENT_LAST, /* nothing follows any more */
};

struct http1_client {
	struct http_client base;
	struct http *http;
	struct exchange exchange; /* one after the other */
	enum http1_client_state state;
	size_t scanned;  /* of a head that is not whole */
	size_t head_len; /* of the request that is held */
	struct http1_body body;
	uint8_t minor;
	bool keep;     /* the client goes on after this exchange */
	bool has_body; /* the request that is held has one */
	bool chunked;  /* so the response's body is written */
};

void http1_client_init(struct http1_client *client, struct http *http);
void http1_client_release(struct http1_client *client);
/* Takes from the client's end what can be used now. */
void http1_client_run(struct http1_client *client);
