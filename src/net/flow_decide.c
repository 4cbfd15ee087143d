/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_decide.c - from a target to a connection, or to a refusal
 *
 * Only on the ports of the web, and where rules are about requests, does the
 * server wait for the client's first bytes: elsewhere it may be the server that
 * speaks first. There the connection is made at once, and the first bytes of
 * the client are held until they are known not to be TLS for another name.
 */
#include "net/flow_internal.h"

#include <errno.h>
#include <string.h>

#include "base/own.h"
#include "net/config.h"
#include "net/connect.h"
#include "net/end.h"
#include "net/gate.h"
#include "net/http.h"
#include "net/peek.h"
#include "wire/blob_path.h"
#include "wire/http1_head.h"

static void decide(struct flow *flow)
{
	decision_of_target(flow->gate->config->policy, &flow->target,
			   &flow->decision);
}

static bool is_web_port(uint16_t port)
{
	return port == 80 || port == 443;
}

static bool needs_peek(const struct flow *flow)
{
	if (flow->decision.answer == POLICY_BY_REQUEST ||
	    flow->decision.inspect || flow_has_secret(flow))
		return true;
	return is_web_port(flow->target.port) && !flow->target.is_host;
}

void flow_announce(struct flow *flow)
{
	const struct net_message opened = {
		.type = NET_OPENED, .opened = { .stream = flow->stream }
	};

	if (flow->stream)
		port_send(&flow->gate->port, &opened);
	flow->stream = 0;
}

static void on_connected(void *ctx, const struct connected *result)
{
	struct flow *flow = ctx;

	flow->connecting = NULL;
	flow->address = result->address;
	flow->by_proxy = result->by_proxy;
	if (!result->end) {
		flow_log(flow, result->denied ? AUDIT_DENY : AUDIT_ALLOW,
			 result->reason);
		flow_close(flow, result->code ? result->code : ECONNREFUSED);
		return;
	}
	flow_announce(flow);
	flow_join(flow, result->end);
}

static void connect_now(struct flow *flow)
{
	flow->state = FLOW_CONNECTING;
	deadline_stop(&flow->deadline);
	flow->connecting =
		connect_start(flow->gate, &flow->target, &flow->decision,
			      CONNECT_BYTES, on_connected, flow);
	if (flow->connecting)
		return;
	flow_log(flow, AUDIT_DENY, "too many connections are being made");
	flow_close(flow, EAGAIN);
}

/* The decision stands, and so does what the client said so far. */
static void proceed(struct flow *flow)
{
	const struct decision *decision = &flow->decision;

	if (flow_must_intercept(flow)) {
		flow_intercept(flow);
	} else if (decision->answer == POLICY_ALLOW) {
		connect_now(flow);
	} else if (decision->answer == POLICY_BY_REQUEST) {
		flow_deny(flow, "rules about requests cannot see into this");
	} else if (decision_may_be_asked(decision) &&
		   ask_join(&flow->gate->asks, &flow->target, flow->protocol,
			    &flow->waiter) == 0) {
		flow->state = FLOW_ASKING;
		deadline_stop(&flow->deadline);
		flow_log(flow, AUDIT_ASK, NULL);
	} else {
		flow_refuse(flow, decision_reason(decision));
	}
}

void flow_on_answer(struct ask_waiter *waiter, enum ask_answer answer)
{
	struct flow *flow = CONTAINER_OF(waiter, struct flow, waiter);

	if (answer != ASK_ALLOW) {
		flow_refuse(flow, answer == ASK_DENY ? "denied when asked"
						     : "nobody answered");
		return;
	}
	flow->decision.approved = true;
	decide(flow);
	proceed(flow);
}

void flow_begin_http(struct flow *flow, enum audit_protocol protocol)
{
	flow->protocol = protocol;
	flow->state = FLOW_HTTP;
	deadline_stop(&flow->deadline);
	flow_announce(flow);
	flow->http = http_new(flow, HTTP_ORIGIN);
	http_on_client(flow->http);
}

static void begin_tls(struct flow *flow, const struct client_hello *hello)
{
	const char *problem = flow_check_hello(flow, hello);

	flow->named = !problem && hello->sni == CLIENT_HELLO_SNI_NAME;
	flow_watch_tls(flow, hello);
	/* Denied is denied: what is wrong besides helps nobody. */
	if (problem && (flow->decision.answer != POLICY_DENY ||
			decision_may_be_asked(&flow->decision)))
		flow_deny(flow, problem);
	else
		proceed(flow);
}

/* SSH where the web is: the rule must have meant this very port. */
static void begin_ssh(struct flow *flow)
{
	flow->checked = true;
	if (flow->decision.answer == POLICY_ALLOW && !flow->decision.names_port)
		flow_deny(flow, "neither TLS nor HTTP");
	else
		proceed(flow);
}

static enum peek_result look(struct flow *flow, struct client_hello *hello)
{
	size_t len;
	const uint8_t *bytes = end_gather(flow->client, flow->gate->scratch,
					  sizeof(flow->gate->scratch), &len);

	return len ? peek_parse(bytes, len, hello) : PEEK_MORE;
}

void flow_peek(struct flow *flow)
{
	struct client_hello hello;

	if (flow->client->error) {
		flow_close(flow, ECONNRESET);
		return;
	}
	switch (look(flow, &hello)) {
	case PEEK_MORE:
		if (flow->client->eof)
			flow_deny(flow, "the client said nothing whole");
		break;
	case PEEK_TLS:
		begin_tls(flow, &hello);
		break;
	case PEEK_SSH:
		begin_ssh(flow);
		break;
	case PEEK_HTTP:
		flow_begin_http(flow, AUDIT_HTTP);
		break;
	case PEEK_BAD:
		flow->protocol = AUDIT_TLS;
		flow_deny(flow, hello.problem);
		break;
	}
}

/* An engine pulls an image from a registry on the host. */
static bool is_pull(const struct flow *flow)
{
	struct http_problem problem;
	struct http_request request;
	size_t len, scanned = 0;
	const uint8_t *bytes = end_gather(flow->client, flow->gate->scratch,
					  sizeof(flow->gate->scratch), &len);
	int head;

	if (!flow->target.is_host || flow->by_proxy || flow->bytes_in ||
	    flow->gate->layers.state == LAYERS_OFF)
		return false;
	head = http1_head_length(bytes, len, &scanned, &problem);
	return head > 0 &&
	       http1_request_parse(bytes, (size_t)head, &request, &problem) ==
		       0 &&
	       (span_is(request.method, "GET") ||
		span_is(request.method, "HEAD")) &&
	       blob_path_is_pull(request.path) && request.has_authority &&
	       target_is_called(&flow->target, &request.authority, 80);
}

/* Its layers may be here already, or may be kept: see exchange_layer.h. */
static void see_requests(struct flow *flow)
{
	flow->protocol = AUDIT_HTTP;
	flow->state = FLOW_HTTP;
	flow->checked = true;
	deadline_stop(&flow->deadline);
	flow->http = http_new(flow, HTTP_ORIGIN);
	servers_adopt(&flow->http->servers, &flow->target,
		      TAKE_PTR(flow->server), &flow->address);
	http_on_client(flow->http);
}

/* Elsewhere: held until it is known not to be TLS for another name. */
bool flow_check_client(struct flow *flow)
{
	struct client_hello hello;
	const char *problem;

	if (!end_available(flow->client)) {
		if (flow->client->eof || flow->client->error)
			flow->checked = true;
		return flow->checked;
	}
	switch (look(flow, &hello)) {
	case PEEK_MORE:
		if (flow->client->eof || flow->client->error) {
			flow->checked = true;
			return true;
		}
		if (list_empty(&flow->deadline.link))
			deadline_start(&flow->gate->peek, &flow->deadline);
		return false;
	case PEEK_TLS:
		problem = flow_check_hello(flow, &hello);
		flow_watch_tls(flow, &hello);
		break;
	case PEEK_BAD:
		flow->protocol = AUDIT_TLS;
		problem = hello.problem;
		break;
	case PEEK_HTTP:
		if (is_pull(flow)) {
			see_requests(flow);
			return false;
		}
		problem = NULL;
		break;
	default:
		problem = NULL;
	}
	deadline_stop(&flow->deadline);
	flow->checked = true;
	if (problem)
		flow_deny(flow, problem);
	return !problem;
}

void flow_begin(struct flow *flow)
{
	decide(flow);
	if (!needs_peek(flow)) {
		proceed(flow);
		return;
	}
	flow->state = FLOW_PEEKING;
	deadline_start(&flow->gate->peek, &flow->deadline);
	flow_peek(flow);
}

static bool is_by_proxy(const struct flow *flow)
{
	return flow->connecting ? connect_is_by_proxy(flow->connecting)
				: flow->by_proxy;
}

/* A tunnel that began as a request. */
static bool is_web(const struct flow *flow)
{
	return flow->protocol == AUDIT_HTTP || flow->protocol == AUDIT_HTTPS;
}

/* Another policy is in force; the flow has a target. */
static void recheck_out(struct flow *flow)
{
	struct policy_verdict verdict;

	decide(flow);
	if (flow->state == FLOW_PEEKING || flow->state == FLOW_SECURING ||
	    flow->state == FLOW_LINGERING)
		return;
	if (flow->state == FLOW_ASKING) {
		if (decision_may_be_asked(&flow->decision))
			return;
		ask_leave(&flow->waiter);
		proceed(flow);
		return;
	}
	if (flow->decision.answer != POLICY_ALLOW ||
	    (is_by_proxy(flow) &&
	     !decision_passes_proxy(&flow->decision, &flow->target))) {
		flow_deny(flow, "revoked");
		return;
	}
	if (flow_must_intercept(flow)) {
		flow_deny(flow, "to be inspected from now on");
		return;
	}
	if (flow_lost_secret(flow)) {
		flow_deny(flow, "revoked");
		return;
	}
	if (!flow->websocket && is_web(flow) && flow_has_secret(flow)) {
		flow_deny(flow, "to be searched for a secret from now on");
		return;
	}
	if (!flow->target.name || flow->target.is_host || !flow->address.family)
		return;
	verdict = policy_decide_resolved(flow->gate->config->policy,
					 flow->target.name, &flow->address,
					 flow->target.port);
	if (verdict.answer != POLICY_ALLOW)
		flow_deny(flow, "revoked");
}

void flow_recheck(struct flow *flow)
{
	flow->refused = NULL;
	if (flow->kind == FLOW_SOCKET)
		sockets_recheck(flow);
	else if (flow->kind == FLOW_PUBLISHED)
		published_recheck(flow);
	else if (flow->state == FLOW_HTTP)
		http_recheck(flow->http);
	else
		recheck_out(flow);
}
