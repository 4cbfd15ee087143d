/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_intercept.c - TLS with the client in the place of the server
 *
 * Only where somebody must see the requests: rules are about them, a secret is
 * to be put in, they are to be logged, or a refusal is to be readable. The
 * client's side is made first; a server is looked for once a request is
 * allowed, and is spoken to only when it has proved by the host's trust to be
 * the one that was named.
 */
#include "net/flow_internal.h"

#include <errno.h>

#include "net/bindings.h"
#include "net/ca.h"
#include "net/end.h"
#include "net/end_tls.h"
#include "net/gate.h"

/* An address has no name that a certificate could be made for. */
static bool can_intercept(const struct flow *flow)
{
	return flow->protocol == AUDIT_TLS && flow->named &&
	       flow->gate->ca.certificate && flow->target.name &&
	       !flow->target.is_host && !flow->decision.bypass;
}

bool flow_has_secret(const struct flow *flow)
{
	const struct target *target = &flow->target;

	return target->name && !target->is_host && !flow->decision.bypass &&
	       (bindings_have_host(flow->gate->bindings, target->name,
				   target->port) ||
		bindings_have_login(flow->gate->bindings, target->name,
				    target->port));
}

bool flow_must_intercept(const struct flow *flow)
{
	const struct decision *decision = &flow->decision;

	return can_intercept(flow) &&
	       (decision->answer == POLICY_BY_REQUEST ||
		(decision->answer == POLICY_ALLOW &&
		 (decision->inspect || flow_has_secret(flow))));
}

void flow_intercept(struct flow *flow)
{
	struct gate *gate = flow->gate;
	SSL *ssl;

	if (gate->intercepted >= LIMIT_INTERCEPTED) {
		flow_deny(flow, "too many connections are intercepted");
		return;
	}
	ssl = ca_connection(&gate->ca, flow->target.name);
	if (!ssl) {
		flow_deny(flow, "no certificate could be made");
		return;
	}
	gate->intercepted++;
	flow->intercepted = true;
	flow_announce(flow);
	flow->protocol = AUDIT_HTTPS;
	flow->state = FLOW_SECURING;
	flow->checked = true;
	flow->watched = false;
	flow->pass_left = 0;
	deadline_stop(&flow->deadline);
	deadline_start(&gate->peek, &flow->deadline);
	flow->client = end_tls_server(&gate->ends, flow->client, ssl);
	flow->client->owner = flow;
	flow->client->on_event = flow_on_event;
	flow_secure(flow);
}

void flow_secure(struct flow *flow)
{
	struct end *client = flow->client;

	if (client->connected && !client->error) {
		flow_begin_http(flow, AUDIT_HTTPS);
		return;
	}
	if (!client->error)
		return;
	flow_log(flow, AUDIT_DENY,
		 flow->refused     ? flow->refused
		 : client->problem ? client->problem
				   : "reset by the client");
	/* An alert may be on its way to the client. */
	flow->client = end_tls_strip(client);
	flow->client->owner = flow;
	flow->client->on_event = flow_on_event;
	flow_linger(flow);
}

void flow_refuse(struct flow *flow, const char *reason)
{
	if (!can_intercept(flow) || flow->target.port != 443) {
		flow_deny(flow, reason);
		return;
	}
	flow->refused = reason;
	flow_intercept(flow);
}
