/* SPDX-License-Identifier: Apache-2.0 */
/*
 * servers.h - the connections to servers behind one connection of a client
 *
 * All lead to the same target: a request for another one closes them. They are
 * kept from request to request, and none is shared with another client. A
 * request that finds no connection free waits for one, first come first
 * served.
 */
#pragma once

#include <stdbool.h>

#include "base/list.h"
#include "net/http1_server.h"
#include "net/target.h"

struct connecting;
struct end;
struct exchange;
struct h2_server;
struct http;

struct servers {
	struct http *http;
	struct target target;
	struct list links; /* struct server_link, owned */
	unsigned count;
	struct list waiting; /* exchanges */
	bool only_http1;     /* as far as we know: each request needs its own */
};

/* One connection, being made or made. */
struct server_link {
	struct servers *servers;
	struct list link;
	struct connecting *connecting; /* owned; NULL: it is made */
	struct address address;
	struct http1_server http1; /* unused with HTTP/2 */
	struct h2_server *h2;      /* owned; NULL: it speaks HTTP/1 */
};

void servers_init(struct servers *servers, struct http *http);
void servers_release(struct servers *servers);
/* Sends the request, now or when there is a server; or refuses it. */
void servers_find(struct servers *servers, struct exchange *exchange);
/* Takes end: a connection to target that was made already. */
void servers_adopt(struct servers *servers, const struct target *target,
		   struct end *end, const struct address *address);
/* They are behind the host's proxy, or will be. */
bool servers_by_proxy(const struct servers *servers);
/* Takes from the servers what the client has room for. */
void servers_run(struct servers *servers);
/* Another policy is in force: closes what leads to a closed address. */
void servers_recheck(struct servers *servers);
