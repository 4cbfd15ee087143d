/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exchange.c - one request and its response, between two codecs
 */
#include "net/exchange.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "net/config.h"
#include "net/exchange_layer.h"
#include "net/exchange_login.h"
#include "net/flow.h"
#include "net/forward_proxy.h"
#include "net/gate.h"
#include "net/http.h"
#include "net/http_reply.h"
#include "wire/url_path.h"

#define PORT_HTTP 80
#define PORT_HTTPS 443

static const char another_host[] = "the request names another host";

static void on_answer(struct ask_waiter *waiter, enum ask_answer answer);

void exchange_init(struct exchange *exchange, struct http *http,
		   struct flow *flow, struct http_client *client)
{
	*exchange = (struct exchange){ .http = http,
				       .flow = flow,
				       .client = client };
	list_init(&exchange->waiting);
	ask_waiter_init(&exchange->waiter, on_answer);
	renew_waiter_init(&exchange->renewing, exchange_login_on_ready);
}

static void leave_server(struct exchange *exchange)
{
	struct http_server *server = TAKE_PTR(exchange->server);

	list_remove(&exchange->waiting);
	if (!server)
		return;
	server->ops->leave(server);
	server->exchange = NULL;
}

void exchange_release(struct exchange *exchange)
{
	leave_server(exchange);
	ask_leave(&exchange->waiter);
	renew_leave(&exchange->renewing);
	target_release(&exchange->target);
	decision_release(&exchange->decision);
	free(exchange->path);
	free(exchange->query);
	exchange_login_release(exchange);
	exchange_layer_release(exchange);
	exchange_secrets_release(&exchange->secrets);
	exchange_init(exchange, exchange->http, exchange->flow,
		      exchange->client);
}

void exchange_log(const struct exchange *exchange, enum audit_verdict verdict,
		  const char *reason)
{
	const struct flow *flow = exchange->flow;
	const struct audit_record record = {
		.id = flow->id,
		.target = &exchange->target,
		.address = exchange->server ? exchange->server->address
					    : (struct address){ 0 },
		.protocol = flow->protocol,
		.verdict = verdict,
		.method = exchange->method[0] ? exchange->method : NULL,
		.path = exchange->path,
		.path_len = exchange->path ? strlen(exchange->path) : 0,
		.query = exchange->decision.inspect ? exchange->query : NULL,
		.status = exchange->status,
		.decision = &exchange->decision,
		.reason = reason,
		.bytes_out = exchange->bytes_out,
		.bytes_in = exchange->bytes_in,
		.started_ms = exchange->started_ms,
	};

	audit_write(&flow->gate->audit, &record);
}

bool exchange_is_safe(const struct exchange *exchange)
{
	return (strcmp(exchange->method, "GET") == 0 ||
		strcmp(exchange->method, "HEAD") == 0) &&
	       exchange->request_done && !exchange->bytes_out;
}

static void over(struct exchange *exchange)
{
	exchange_release(exchange);
	exchange->client->ops->next(exchange->client);
}

void exchange_refuse(struct exchange *exchange,
		     const struct exchange_refusal *refusal)
{
	struct http_client *client = exchange->client;
	struct http_reply reply;

	exchange->http->moved++;
	if (exchange->response_begun) {
		exchange_reset(exchange, refusal->verdict, refusal->reason,
			       ECONNRESET);
		return;
	}
	exchange->http->heard = true;
	/* A head that was not understood has no target of its own. */
	if (!exchange->target.port)
		target_copy(&exchange->flow->target, &exchange->target);
	exchange->status = refusal->status;
	exchange_log(exchange, refusal->verdict, refusal->reason);
	http_reply_make(&reply, refusal->status,
			refusal->text ? refusal->text : refusal->reason);
	client->ops->head(client, &reply.response);
	if (exchange->method_kind != HTTP_METHOD_HEAD)
		client->ops->body(client, reply.text, reply.len);
	client->ops->end(client, NULL);
	over(exchange);
}

void exchange_reset(struct exchange *exchange, enum audit_verdict verdict,
		    const char *reason, int code)
{
	exchange_log(exchange, verdict, reason);
	exchange->client->ops->reset(exchange->client, code);
}

void exchange_abandon(struct exchange *exchange, const char *reason)
{
	if (exchange->state == EXCHANGE_OPEN ||
	    exchange->state == EXCHANGE_CONNECTING)
		exchange_log(exchange, AUDIT_ALLOW, reason);
	exchange_release(exchange);
}

/* Some requests to the host are allowed: another rule should be no wider. */
static bool has_rules_for_requests(const struct exchange *exchange)
{
	struct decision whole = { 0 };
	bool found;

	decision_of_target(exchange->flow->gate->config->policy,
			   &exchange->target, &whole);
	found = whole.answer == POLICY_BY_REQUEST;
	decision_release(&whole);
	return found;
}

static const char no_upgrade[] = "rules about requests end at an upgrade";

static void deny(struct exchange *exchange, const char *reason)
{
	char text[HTTP_REPLY_TEXT_MAX], normal[URL_PATH_MAX + 1];
	struct http_reply_blocked what = {
		.sandbox = exchange->flow->gate->start->sandbox,
		.target = &exchange->target,
		.decision = &exchange->decision,
	};

	/* The rules would have it; something else is wrong. */
	if (exchange->decision.answer != POLICY_DENY)
		what.reason = reason;
	else if (has_rules_for_requests(exchange)) {
		what.method = exchange->method;
		if (url_path_normalise(exchange->path, strlen(exchange->path),
				       normal) >= 0)
			what.path = normal;
	}
	http_reply_blocked(text, sizeof(text), &what);
	/* Agents take 426 as: not by WebSocket. After 403 they try for long. */
	exchange_refuse(exchange, &(struct exchange_refusal){
					  reason == no_upgrade ? 426 : 403,
					  AUDIT_DENY, reason, text });
}

static void decide(struct exchange *exchange)
{
	const struct policy *policy = exchange->flow->gate->config->policy;
	char normal[URL_PATH_MAX + 1];
	int len = url_path_normalise(exchange->path, strlen(exchange->path),
				     normal);

	if (exchange->method_kind == HTTP_METHOD_CONNECT)
		decision_of_target(policy, &exchange->target,
				   &exchange->decision);
	else
		decision_of_request(policy, &exchange->target, exchange->method,
				    len < 0 ? NULL : normal,
				    &exchange->decision);
}

/* The decision stands. */
static void proceed(struct exchange *exchange)
{
	const struct decision *decision = &exchange->decision;

	if (decision->answer != POLICY_DENY) {
		exchange->state = EXCHANGE_CONNECTING;
		if (exchange->method_kind == HTTP_METHOD_CONNECT)
			forward_proxy_accept(exchange);
		else if (!exchange_login_wait(exchange))
			exchange_layer_find(exchange);
	} else if (decision_may_be_asked(decision) &&
		   ask_join(&exchange->flow->gate->asks, &exchange->target,
			    exchange->flow->protocol, &exchange->waiter) == 0) {
		exchange->state = EXCHANGE_ASKING;
		exchange_log(exchange, AUDIT_ASK, NULL);
	} else {
		deny(exchange, decision_reason(decision));
	}
}

static void on_answer(struct ask_waiter *waiter, enum ask_answer answer)
{
	struct exchange *exchange =
		CONTAINER_OF(waiter, struct exchange, waiter);
	struct http *http = exchange->http;

	if (answer == ASK_ALLOW) {
		exchange->decision.approved = true;
		/* For all that follows on a connection to this target. */
		if (http->mode == HTTP_ORIGIN)
			exchange->flow->decision.approved = true;
		decide(exchange);
		proceed(exchange);
	} else {
		deny(exchange, answer == ASK_DENY ? "denied when asked"
						  : "nobody answered");
	}
	http_run(http);
}

static bool is_secure(const struct exchange *exchange)
{
	return exchange->flow->protocol == AUDIT_HTTPS;
}

/* A request on a connection to a target must be for that target. */
static const char *check_origin(struct exchange *exchange,
				const struct http_request *request)
{
	const struct target *target = &exchange->flow->target;

	target_copy(target, &exchange->target);
	if (request->method_kind == HTTP_METHOD_CONNECT)
		return "CONNECT is for our proxy only";
	if (request->scheme == HTTP_SCHEME_HTTPS && !is_secure(exchange))
		return "https in plain text";
	if (request->scheme == HTTP_SCHEME_HTTP && is_secure(exchange))
		return "plain http in TLS";
	if (request->has_authority &&
	    !target_is_called(target, &request->authority,
			      is_secure(exchange) ? PORT_HTTPS : PORT_HTTP))
		return another_host;
	return NULL;
}

/* Bytes of any kind follow an upgrade: only where all of them are allowed. */
static const char *check_upgrade(struct exchange *exchange,
				 const struct http_request *request)
{
	struct decision whole = { 0 };
	bool allowed;

	if (!span_matches_text(request->upgrade, "websocket"))
		return NULL; /* others are not passed on */
	exchange->upgrade = true;
	decision_of_target(exchange->flow->gate->config->policy,
			   &exchange->target, &whole);
	allowed = whole.answer == POLICY_ALLOW || exchange->decision.approved;
	decision_release(&whole);
	return allowed ? NULL : no_upgrade;
}

static void keep_request(struct exchange *exchange,
			 const struct http_request *request)
{
	const char *query = request->path.len ? memchr(request->path.bytes, '?',
						       request->path.len)
					      : NULL;
	size_t len = query ? (size_t)(query - request->path.bytes)
			   : request->path.len;

	memcpy(exchange->method, request->method.bytes, request->method.len);
	exchange->method[request->method.len] = '\0';
	exchange->method_kind = request->method_kind;
	exchange->path = xstrndup(len ? request->path.bytes : "", len);
	exchange->query =
		query ? xstrndup(query, request->path.len - len) : NULL;
	exchange->started_ms = loop_now_ms();
}

void exchange_begin(struct exchange *exchange)
{
	struct http_request request;
	const char *problem;
	unsigned status = 403;

	exchange->http->moved++;
	exchange->http->heard = true;
	exchange->client->ops->request(exchange->client, &request);
	keep_request(exchange, &request);
	problem = exchange->http->mode == HTTP_PROXY
			  ? forward_proxy_check(exchange, &request)
			  : check_origin(exchange, &request);
	if (problem) {
		/* It asks again on a connection of its own. */
		if (problem == another_host && exchange->client->coalesces)
			status = 421;
		exchange_refuse(exchange,
				&(struct exchange_refusal){ status, AUDIT_DENY,
							    problem, NULL });
		return;
	}
	exchange->decision.approved = exchange->flow->decision.approved;
	decide(exchange);
	if (exchange->flow->refused)
		problem = exchange->flow->refused;
	else if (exchange->decision.answer != POLICY_DENY)
		problem = check_upgrade(exchange, &request);
	if (problem)
		deny(exchange, problem);
	else
		proceed(exchange);
}

/* HTTP/1.0 may leave the host out; what follows must not. */
static void name_host(const struct target *target, struct http_request *request)
{
	uint16_t usual =
		request->scheme == HTTP_SCHEME_HTTPS ? PORT_HTTPS : PORT_HTTP;

	if (request->has_authority)
		return;
	request->has_authority = true;
	target_host(target, request->authority.host);
	request->authority.address = target->address;
	request->authority.port = target->port == usual ? 0 : target->port;
}

void exchange_send(struct exchange *exchange, struct http_server *server)
{
	struct http_request request;
	const char *problem;
	bool failed;

	exchange->http->moved++;
	exchange->client->ops->request(exchange->client, &request);
	request.scheme =
		is_secure(exchange) ? HTTP_SCHEME_HTTPS : HTTP_SCHEME_HTTP;
	name_host(&exchange->target, &request);
	exchange->server = server;
	server->exchange = exchange;
	exchange_login_release(exchange);
	exchange_layer_request(exchange, server, &request);
	problem = exchange_secrets_put(exchange, server, &request);
	if (problem) {
		exchange_secrets_wipe(exchange);
		exchange_refuse(exchange,
				&(struct exchange_refusal){ 502, AUDIT_DENY,
							    problem, NULL });
		return;
	}
	exchange_login_begin(exchange, server, &request);
	failed = server->ops->head(server, &request, exchange->upgrade) < 0;
	exchange_secrets_wipe(exchange);
	if (failed) {
		exchange_refuse(exchange, &(struct exchange_refusal){
						  431, AUDIT_DENY,
						  "head too long", NULL });
		return;
	}
	exchange->state = EXCHANGE_OPEN;
	exchange->client->ops->accept(exchange->client);
}

void exchange_request_body(struct exchange *exchange, const void *bytes,
			   size_t len)
{
	exchange->http->moved++;
	exchange->bytes_out += len;
	if (exchange_login_hold_request(exchange, bytes, len) ||
	    exchange_secrets_hold(exchange, bytes, len))
		return;
	exchange->server->ops->body(exchange->server, bytes, len);
}

bool exchange_request_end(struct exchange *exchange,
			  const struct http_fields *trailers)
{
	const char *problem = exchange_secrets_ask(exchange);

	exchange->http->moved++;
	if (problem) {
		exchange_refuse(exchange,
				&(struct exchange_refusal){ 403, AUDIT_DENY,
							    problem, NULL });
		return false;
	}
	exchange->request_done = true;
	exchange_login_send(exchange);
	/* A credential in a trailer is one too. */
	if (exchange->secrets.injection.bound)
		trailers = NULL;
	exchange->server->ops->end(exchange->server, trailers);
	return true;
}

void exchange_response_head(struct exchange *exchange,
			    struct http_response *response)
{
	exchange->http->moved++;
	exchange_layer_head(exchange, response);
	if (!response->is_interim) {
		exchange->response_begun = true;
		exchange->status = response->status;
	}
	exchange_login_head(exchange, response);
	exchange_secrets_mask_head(exchange, response);
	exchange->client->ops->head(exchange->client, response);
}

const char *exchange_check_response(const struct exchange *exchange,
				    const struct http_response *response)
{
	const char *problem = exchange_login_check(exchange, response);

	return problem ? problem : exchange_secrets_check(exchange, response);
}

size_t exchange_request_space(const struct exchange *exchange)
{
	return exchange_login_request_space(
		exchange, exchange->server->ops->space(exchange->server));
}

size_t exchange_response_space(const struct exchange *exchange)
{
	size_t space = exchange->client->ops->space(exchange->client);

	space = exchange_layer_space(exchange, space);
	return exchange_secrets_space(
		exchange, exchange_login_response_space(exchange, space));
}

void exchange_response_body(struct exchange *exchange, const void *bytes,
			    size_t len)
{
	exchange->http->moved++;
	exchange->bytes_in += len;
	exchange_layer_body(exchange, bytes, len);
	if (!exchange_login_hold_response(exchange, bytes, len))
		exchange_secrets_body(exchange, bytes, len);
}

void exchange_response_end(struct exchange *exchange,
			   const struct http_fields *trailers)
{
	const char *problem = exchange_login_answer(exchange);

	if (exchange_layer_end(exchange))
		return;
	exchange->http->moved++;
	if (problem) {
		exchange_reset(exchange, AUDIT_DENY, problem, ECONNRESET);
		return;
	}
	exchange_secrets_last(exchange);
	trailers = exchange_secrets_trailers(exchange, trailers);
	exchange->client->ops->end(exchange->client, trailers);
	exchange_log(exchange, AUDIT_ALLOW, NULL);
	exchange->server->exchange = NULL;
	exchange->server = NULL;
	over(exchange);
}

void exchange_recheck(struct exchange *exchange)
{
	struct http *http = exchange->http;

	if (exchange->state == EXCHANGE_IDLE)
		return;
	decide(exchange);
	if (exchange->state == EXCHANGE_ASKING) {
		if (decision_may_be_asked(&exchange->decision))
			return;
		ask_leave(&exchange->waiter);
		proceed(exchange);
		http_run(http);
	} else if (exchange->decision.answer == POLICY_DENY ||
		   exchange_secrets_revoked(exchange) ||
		   (servers_by_proxy(&http->servers) &&
		    !decision_passes_proxy(&exchange->decision,
					   &exchange->target))) {
		exchange_reset(exchange, AUDIT_DENY, "revoked", ECONNREFUSED);
	}
}
