/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_layer.h - what the cache of layers has to do with one request
 *
 * GET /v2/NAME/blobs/sha256:HEX to a registry that was verified, or that is on
 * the host's loopback. What the cache lacks is written to it as it passes; what
 * it has is sent from there, but only when the registry itself, asked with the
 * client's own head and HEAD in the place of GET, would give it to this client
 * now: who knows a digest has no right to what it names.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/http_head.h"

struct exchange;
struct http;
struct http_server;

/* For a request that is allowed: finds it a server, now or soon. */
void exchange_layer_find(struct exchange *exchange);
void exchange_layer_release(struct exchange *exchange);
/* Before the head is sent. */
void exchange_layer_request(struct exchange *exchange,
			    const struct http_server *server,
			    struct http_request *request);
/* The method that the server was told. */
enum http_method exchange_layer_method(const struct exchange *exchange);
/* May become another head. */
void exchange_layer_head(struct exchange *exchange,
			 struct http_response *response);
void exchange_layer_body(struct exchange *exchange, const void *bytes,
			 size_t len);
/* True: the server is done, but the exchange is not. */
bool exchange_layer_end(struct exchange *exchange);
size_t exchange_layer_space(const struct exchange *exchange, size_t space);
/* Passes on what comes from the cache, as far as clients take it. */
void exchange_layer_run(struct http *http);
