/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange_login.h - one request to a token endpoint, and its answer
 *
 * The tokens of a login stay on the host. The answer is held until it is whole;
 * its tokens go to bawn-keys, and the guest gets placeholders of their length
 * and shape. In a request for new ones a placeholder that is the value of a
 * field for tokens gets its token back. Everything around them stays as it is.
 * An answer that says that it has succeeded and cannot be read ends the
 * connection: it may hold a token.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct exchange;
struct exchange_login;
struct http_request;
struct http_response;
struct http_server;
struct renew_waiter;

/* A request that is allowed. True: it waits until a login was renewed, or it
 * may renew one itself, and goes on by itself. */
bool exchange_login_wait(struct exchange *exchange);
void exchange_login_on_ready(struct renew_waiter *waiter);
/* The head is about to be sent, with its secrets; exchange->login is set if it
 * is for one. */
void exchange_login_begin(struct exchange *exchange,
			  const struct http_server *server,
			  struct http_request *request);
void exchange_login_release(struct exchange *exchange);

/* False: it is not held and goes on its way. */
bool exchange_login_hold_request(struct exchange *exchange, const void *bytes,
				 size_t len);
/* The request is whole: what was held is sent. */
void exchange_login_send(struct exchange *exchange);

/* NULL, or why this answer cannot be passed on (static). */
const char *exchange_login_check(const struct exchange *exchange,
				 const struct http_response *response);
void exchange_login_head(struct exchange *exchange,
			 const struct http_response *response);
bool exchange_login_hold_response(struct exchange *exchange, const void *bytes,
				  size_t len);
/* It is whole: passes it on without its tokens. NULL, or why not (static). */
const char *exchange_login_answer(struct exchange *exchange);

/* Of the space on one side: what is left when all that is held has passed. */
size_t exchange_login_request_space(const struct exchange *exchange,
				    size_t space);
size_t exchange_login_response_space(const struct exchange *exchange,
				     size_t space);
