/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_secrets.h - what secrets have to do with one request
 *
 * On the way out the head gets what is bound to its host (inject.h); on the way
 * back nothing passes unmasked (mask.h). An exchange keeps the list of secrets
 * that it began with.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "net/inject.h"
#include "net/mask.h"

struct bindings;
struct exchange;
struct http_fields;
struct http_request;
struct http_response;
struct http_server;
struct target;

struct exchange_secrets {
	struct bindings *bindings; /* owned reference; NULL: none */
	struct injection injection;
	struct mask mask;
	struct buffer question; /* a body that is looked at before it goes */
	bool too_long;          /* it is no question */
};

void exchange_secrets_release(struct exchange_secrets *secrets);

/* For a request that is allowed: why it cannot be sent now; NULL: it can. */
const char *exchange_secrets_put(struct exchange *exchange,
				 const struct http_server *server,
				 struct http_request *request);
/* What decides; path has room for URL_PATH_MAX and a NUL. */
void exchange_secrets_facts(const struct exchange *exchange,
			    const struct http_server *server,
			    const struct http_request *request, char *path,
			    struct inject_facts *out);
/* False: the body may pass. Else it is held, until its end. */
bool exchange_secrets_hold(struct exchange *exchange, const void *bytes,
			   size_t len);
/* The end: what was held goes to the server. Else why it does not. The head is
 * there already, with the secret, but nobody answers a part of a request. */
const char *exchange_secrets_ask(struct exchange *exchange);
/* The head was written: nothing of it stays in our memory. */
void exchange_secrets_wipe(struct exchange *exchange);
/* A host with secrets: its responses must be readable to us. */
bool exchange_secrets_bound(const struct exchange *exchange);

/* NULL: the response can be masked; else why it cannot be passed on. */
const char *exchange_secrets_check(const struct exchange *exchange,
				   const struct http_response *response);
void exchange_secrets_mask_head(struct exchange *exchange,
				struct http_response *response);
/* Passes a piece of the body on; len 0 and `last`: what was held. */
void exchange_secrets_body(struct exchange *exchange, const void *bytes,
			   size_t len);
void exchange_secrets_last(struct exchange *exchange);
/* Of a client's space: what is left when all that is held has passed. */
size_t exchange_secrets_space(const struct exchange *exchange, size_t space);
/* Trailers with texts that may be masked; borrowed until the next call. */
const struct http_fields *
exchange_secrets_trailers(struct exchange *exchange,
			  const struct http_fields *trailers);

/* Another list is in force: is a secret that went out no longer in it? */
bool exchange_secrets_revoked(const struct exchange *exchange);
bool exchange_secrets_lost(const struct exchange_secrets *secrets,
			   const struct bindings *now,
			   const struct target *target);
