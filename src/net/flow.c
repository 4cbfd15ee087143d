/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.c - the life of one connection: its ends, and the tunnel between them
 */
#include "net/flow.h"

#include <errno.h>
#include <string.h>

#include "base/loop.h"
#include "base/mem.h"
#include "net/connect.h"
#include "net/end.h"
#include "net/flow_internal.h"
#include "net/gate.h"
#include "net/http.h"

/* Of one direction in one round, so that all connections have their turn. */
#define MOVE_BYTES (512u * 1024)

static void on_deadline(struct deadline *deadline);

struct flow *flow_new(struct gate *gate, enum flow_kind kind,
		      struct end *client)
{
	struct flow *flow = xcalloc(1, sizeof(*flow));

	*flow = (struct flow){ .gate = gate,
			       .kind = kind,
			       .id = ++gate->last_id,
			       .client = client,
			       .started_ms = loop_now_ms() };
	client->owner = flow;
	client->on_event = flow_on_event;
	ask_waiter_init(&flow->waiter, flow_on_answer);
	deadline_init(&flow->deadline, on_deadline);
	list_append(&gate->flows, &flow->link);
	return flow;
}

void flow_log(const struct flow *flow, enum audit_verdict verdict,
	      const char *reason)
{
	bool inwards = flow->kind == FLOW_PUBLISHED;
	const struct audit_record record = {
		.id = flow->id,
		.target = &flow->target,
		.address = flow->address,
		.protocol = flow->protocol,
		.verdict = verdict,
		.decision = &flow->decision,
		.reason = reason,
		.bytes_out = inwards ? flow->bytes_in : flow->bytes_out,
		.bytes_in = inwards ? flow->bytes_out : flow->bytes_in,
		.started_ms = flow->started_ms,
	};

	audit_write(&flow->gate->audit, &record);
}

void flow_close(struct flow *flow, int code)
{
	if (flow->state == FLOW_GONE)
		return;
	if (flow->kind == FLOW_PUBLISHED && flow->state == FLOW_CONNECTING &&
	    flow->server)
		flow->gate->published.waiting--;
	flow->state = FLOW_GONE;
	flow->gate->intercepted -= flow->intercepted;
	deadline_stop(&flow->deadline);
	ask_leave(&flow->waiter);
	connect_cancel(flow->connecting);
	if (flow->http)
		http_free(TAKE_PTR(flow->http));
	flow_drop_secrets(flow);
	end_close(flow->client, code);
	end_close(flow->server, code);
	list_remove(&flow->link);
	target_release(&flow->target);
	decision_release(&flow->decision);
	loop_defer_free(flow->gate->loop, flow);
}

void flow_deny(struct flow *flow, const char *reason)
{
	flow_log(flow, AUDIT_DENY, reason);
	flow_close(flow, ECONNREFUSED);
}

void flow_shed(struct flow *flow)
{
	static const char reason[] = "too much in buffers";

	if (flow->state == FLOW_HTTP)
		http_log_end(flow->http, reason);
	else
		flow_log(flow,
			 flow->state == FLOW_TUNNEL ? AUDIT_ALLOW : AUDIT_DENY,
			 reason);
	flow_close(flow, ENOBUFS);
}

static void end_tunnel(struct flow *flow, int code, const char *reason)
{
	flow_log(flow, AUDIT_ALLOW, reason);
	flow_close(flow, code);
}

static const char *why_broken(const struct end *client,
			      const struct end *server)
{
	if (server->error)
		return "reset by the server";
	return client->error ? "reset by the client" : NULL;
}

void flow_run_tunnel(struct flow *flow)
{
	struct end *client = flow->client, *server = flow->server;
	uint64_t before = flow->bytes_in + flow->bytes_out;
	const char *broken;

	flow->bytes_in += flow->websocket
				  ? flow_move_masked(flow, MOVE_BYTES)
				  : end_move(server, client, MOVE_BYTES);
	if (flow->state == FLOW_GONE)
		return;
	if (flow->checked || flow_check_client(flow))
		flow->bytes_out +=
			flow->watched ? flow_move_watched(flow)
				      : end_move(client, server, MOVE_BYTES);
	/* Gone, or requests from now on. */
	if (flow->state != FLOW_TUNNEL)
		return;
	if (flow->kind == FLOW_PUBLISHED &&
	    flow->bytes_in + flow->bytes_out != before)
		published_used(&flow->gate->published);
	broken = why_broken(client, server);
	if (broken)
		end_tunnel(flow, server->error ? server->error : ECONNRESET,
			   broken);
	else if (client->finished && server->finished && end_drained(client) &&
		 end_drained(server))
		end_tunnel(flow, 0, NULL);
}

/* What still comes is read and dropped, so that the end of it is seen. */
static void run_linger(struct flow *flow)
{
	struct end *client = flow->client;

	end_fill(client);
	end_take(client, end_available(client));
	if (client->error || (client->eof && end_drained(client)))
		flow_close(flow, client->error);
}

void flow_linger(struct flow *flow)
{
	if (flow->http)
		http_free(TAKE_PTR(flow->http));
	flow->state = FLOW_LINGERING;
	end_finish(flow->client);
	deadline_start(&flow->gate->linger, &flow->deadline);
	run_linger(flow);
}

static void lost_before(struct flow *flow, const struct end *end)
{
	flow_log(flow, AUDIT_ALLOW,
		 end == flow->client ? "the client went before the connection"
				     : "the server refuses connections");
	flow_close(flow, end->error);
}

void flow_on_event(struct end *end)
{
	struct flow *flow = end->owner;

	switch (flow->state) {
	case FLOW_PEEKING:
		flow_peek(flow);
		break;
	case FLOW_ASKING:
		/* Logged when the question was put. */
		if (end->error)
			flow_close(flow, ECONNRESET);
		break;
	case FLOW_SECURING:
		flow_secure(flow);
		break;
	case FLOW_CONNECTING:
		if (end->error)
			lost_before(flow, end);
		break;
	case FLOW_TUNNEL:
		flow_run_tunnel(flow);
		break;
	case FLOW_HTTP:
		http_on_client(flow->http);
		break;
	case FLOW_LINGERING:
		run_linger(flow);
		break;
	case FLOW_GONE:
		break;
	}
}

void flow_join(struct flow *flow, struct end *server)
{
	flow->server = server;
	server->owner = flow;
	server->on_event = flow_on_event;
	flow->state = FLOW_TUNNEL;
	deadline_stop(&flow->deadline);
	flow_run_tunnel(flow);
}

static void on_deadline(struct deadline *deadline)
{
	struct flow *flow = CONTAINER_OF(deadline, struct flow, deadline);

	if (flow->state == FLOW_HTTP)
		http_on_deadline(flow->http);
	else if (flow->state == FLOW_LINGERING)
		flow_close(flow, ETIMEDOUT);
	else if (flow->state == FLOW_CONNECTING)
		end_tunnel(flow, ETIMEDOUT, "no connection in time");
	else
		flow_deny(flow, "nothing whole was said in time");
}
