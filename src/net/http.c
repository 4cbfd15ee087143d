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
#include "base/text.h"
#include "net/config.h"
#include "net/connect.h"
#include "net/end.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/http_reply.h"

struct http *http_new(struct flow *flow, enum http_mode mode)
{
	struct http *http = xcalloc(1, sizeof(*http));

	http->flow = flow;
	http->mode = mode;
	http1_client_init(&http->client, http);
	http1_server_init(&http->server, http);
	exchange_init(&http->exchange, http, flow, &http->client.base);
	return http;
}

void http_drop_server(struct http *http)
{
	connect_cancel(TAKE_PTR(http->connecting));
	http1_server_close(&http->server);
	http->exchange.server = NULL;
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
	http_drop_server(http);
	exchange_release(&http->exchange);
	target_release(&http->server_target);
	loop_defer_free(http->flow->gate->loop, http);
}

void http_log_end(struct http *http, const char *reason)
{
	if (http->exchange.state == EXCHANGE_OPEN ||
	    http->exchange.state == EXCHANGE_CONNECTING)
		exchange_log(&http->exchange, AUDIT_ALLOW, reason);
}

/* Each makes room or bytes for the other; twice is always enough. */
void http_run(struct http *http)
{
	for (int i = 0; i < 2 && !http->over; i++) {
		http1_client_run(&http->client);
		if (!http->over)
			http1_server_run(&http->server);
	}
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

static void on_server(struct end *end)
{
	http_run(end->owner);
}

void http_on_deadline(struct http *http)
{
	exchange_refuse(&http->exchange,
			&(struct exchange_refusal){ 408, AUDIT_DENY,
						    "no whole head in time",
						    NULL });
	if (!http->over)
		flow_linger(http->flow);
}

struct address http_server_address(const struct http *http)
{
	return http->server.end ? http->server_address : (struct address){ 0 };
}

static void failed(struct http *http, const struct connected *result)
{
	struct exchange *exchange = &http->exchange;
	char text[HTTP_REPLY_TEXT_MAX], host[AUTHORITY_TEXT_SIZE];

	target_format(&exchange->target, host);
	(void)text_format(text, sizeof(text), "cannot reach %s: %s", host,
			  result->reason);
	exchange_refuse(exchange,
			&(struct exchange_refusal){
				result->denied              ? 403
				: result->code == ETIMEDOUT ? 504
							    : 502,
				result->denied ? AUDIT_DENY : AUDIT_ALLOW,
				result->reason, text });
}

static void on_connected(void *ctx, const struct connected *result)
{
	struct http *http = ctx;

	http->connecting = NULL;
	http->server_address = result->address;
	http->by_proxy = result->by_proxy;
	if (!result->end) {
		failed(http, result);
	} else {
		result->end->owner = http;
		result->end->on_event = on_server;
		http1_server_use(&http->server, result->end, result->absolute,
				 result->login);
		exchange_send(&http->exchange, &http->server.base);
	}
	http_run(http);
}

void http_find_server(struct http *http)
{
	struct exchange *exchange = &http->exchange;

	if (http1_server_is_idle(&http->server) &&
	    target_same(&http->server_target, &exchange->target)) {
		exchange_send(exchange, &http->server.base);
		return;
	}
	http_drop_server(http);
	target_release(&http->server_target);
	target_copy(&exchange->target, &http->server_target);
	http->connecting = connect_start(
		http->flow->gate, &exchange->target, &exchange->decision,
		http->flow->protocol == AUDIT_HTTPS ? CONNECT_HTTPS
						    : CONNECT_HTTP,
		on_connected, http);
	if (!http->connecting)
		exchange_refuse(exchange,
				&(struct exchange_refusal){
					503, AUDIT_DENY,
					"too many connections are being made",
					NULL });
}

void http_become_tunnel(struct http *http)
{
	struct flow *flow = http->flow;
	struct exchange *exchange = &http->exchange;
	struct end *server = TAKE_PTR(http->server.end);

	exchange_log(exchange, AUDIT_ALLOW, NULL);
	target_release(&flow->target);
	flow->target = exchange->target;
	exchange->target = (struct target){ 0 };
	decision_release(&flow->decision);
	flow->decision = exchange->decision;
	exchange->decision = (struct decision){ 0 };
	flow->address = http->server_address;
	flow->by_proxy = http->by_proxy;
	flow->checked = true;
	flow->started_ms = loop_now_ms();
	flow->http = NULL;
	http_free(http);
	flow_join(flow, server);
}

void http_become_flow(struct http *http)
{
	struct flow *flow = http->flow;
	struct exchange *exchange = &http->exchange;

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
	const struct target *target = &http->server_target;
	struct policy_verdict verdict = { .answer = POLICY_ALLOW };

	if (http->server.end && target->name && !target->is_host &&
	    http->server_address.family)
		verdict = policy_decide_resolved(
			http->flow->gate->config->policy, target->name,
			&http->server_address, target->port);
	if (verdict.answer == POLICY_ALLOW) {
		exchange_recheck(&http->exchange);
		return;
	}
	if (http->exchange.state == EXCHANGE_OPEN) {
		exchange_log(&http->exchange, AUDIT_DENY, "revoked");
		flow_close(http->flow, ECONNREFUSED);
		return;
	}
	http1_server_close(&http->server);
	exchange_recheck(&http->exchange);
}
