/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http.c - a client's connection that carries requests
 */
#include "net/http.h"

#include <errno.h>
#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "net/end.h"
#include "net/exchange_layer.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/h2_client.h"

/* Rounds without pause; what is left is done in the next one of the loop. */
#define ROUNDS 8

static void on_again(struct deadline *deadline)
{
	http_run(CONTAINER_OF(deadline, struct http, again));
}

struct http *http_new(struct flow *flow, enum http_mode mode)
{
	struct http *http = xcalloc(1, sizeof(*http));

	http->flow = flow;
	http->mode = mode;
	servers_init(&http->servers, http);
	list_init(&http->serving);
	deadline_init(&http->again, on_again);
	http1_client_init(&http->client, http);
	if (flow->client->http2)
		http->h2 = h2_client_new(http);
	return http;
}

void http_free(struct http *http)
{
	struct flow *flow = http->flow;

	/* Without a request there was no line yet. */
	if (!http->heard && flow->protocol == AUDIT_HTTPS)
		flow_log(flow, flow->refused ? AUDIT_DENY : AUDIT_ALLOW,
			 flow->refused ? flow->refused
				       : "the client made no request");
	http->over = true;
	deadline_stop(&http->again);
	if (http->h2)
		h2_client_free(TAKE_PTR(http->h2));
	http1_client_release(&http->client);
	servers_release(&http->servers);
	loop_defer_free(http->flow->gate->loop, http);
}

void http_log_end(struct http *http, const char *reason)
{
	if (http->h2)
		h2_client_abandon(http->h2, reason);
	else
		exchange_abandon(&http->client.exchange, reason);
}

/* Each makes room or bytes for the other. */
void http_run(struct http *http)
{
	uint64_t before;

	for (int i = 0; i < ROUNDS && !http->over; i++) {
		before = http->moved;
		if (http->h2)
			h2_client_run(http->h2);
		else
			http1_client_run(&http->client);
		if (!http->over)
			servers_run(&http->servers);
		if (!http->over)
			exchange_layer_run(http);
		if (http->moved == before)
			return;
	}
	if (!http->over)
		deadline_start(&http->flow->gate->soon, &http->again);
}

void http_on_client(struct http *http)
{
	if (!http->flow->client->error) {
		http_run(http);
		return;
	}
	http_log_end(http, "reset by the client");
	flow_close(http->flow, ECONNRESET);
}

void http_on_deadline(struct http *http)
{
	if (http->h2) {
		h2_client_on_deadline(http->h2);
		return;
	}
	exchange_refuse(&http->client.exchange,
			&(struct exchange_refusal){ 408, AUDIT_DENY,
						    "no whole head in time",
						    NULL });
	if (!http->over)
		flow_linger(http->flow);
}

void http_become_tunnel(struct exchange *exchange, struct end *server)
{
	struct http *http = exchange->http;
	struct flow *flow = http->flow;

	exchange_log(exchange, AUDIT_ALLOW, NULL);
	target_release(&flow->target);
	flow->target = exchange->target;
	exchange->target = (struct target){ 0 };
	decision_release(&flow->decision);
	flow->decision = exchange->decision;
	exchange->decision = (struct decision){ 0 };
	flow->address = exchange->server->address;
	flow->by_proxy = exchange->server->by_proxy;
	flow->checked = true;
	flow_keep_secrets(flow, &exchange->secrets);
	flow->started_ms = loop_now_ms();
	flow->http = NULL;
	http_free(http);
	flow_join(flow, server);
}

void http_become_flow(struct exchange *exchange)
{
	struct http *http = exchange->http;
	struct flow *flow = http->flow;

	flow->target = exchange->target;
	exchange->target = (struct target){ 0 };
	flow->decision.approved = exchange->decision.approved;
	flow->protocol = AUDIT_TCP;
	flow->started_ms = loop_now_ms();
	flow->http = NULL;
	http_free(http);
	flow_begin(flow);
}

void http_recheck(struct http *http)
{
	servers_recheck(&http->servers);
	if (http->over)
		return;
	if (http->h2)
		h2_client_recheck(http->h2);
	else
		exchange_recheck(&http->client.exchange);
	/* What was reset must be told. */
	if (!http->over)
		http_run(http);
}
