/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_client.h - requests of an HTTP/2 client, and responses to it
 *
 * Each stream is an exchange of its own. What is wrong with one ends that one;
 * what is wrong with the connection ends all.
 */
#pragma once

#include "net/exchange.h"
#include "net/h2_session.h"

struct http;

struct h2_client {
	struct h2_session session;
	struct http *http;
};

struct h2_client *h2_client_new(struct http *http);
/* After this round. */
void h2_client_free(struct h2_client *client);
/* Takes from the client's end what can be used now. */
void h2_client_run(struct h2_client *client);
/* A head took too long: that ends the connection. */
void h2_client_on_deadline(struct h2_client *client);
void h2_client_recheck(struct h2_client *client);
/* Nothing of what is under way will be finished. */
void h2_client_abandon(struct h2_client *client, const char *reason);
