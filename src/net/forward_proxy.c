/* SPDX-License-Identifier: Apache-2.0 */
/*
 * forward_proxy.c - the proxy that a guest finds at host.docker.internal:3128
 */
#include "net/forward_proxy.h"

#include <string.h>

#include "net/end.h"
#include "net/exchange.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/http.h"

#define PORT_HTTP 80

void forward_proxy_open(struct gate *gate, struct end *client, unsigned stream)
{
	const struct net_message opened = { .type = NET_OPENED,
					    .opened = { .stream = stream } };
	struct flow *flow = flow_new(gate, FLOW_OUT, client);

	port_send(&gate->port, &opened);
	flow->protocol = AUDIT_HTTP;
	flow->state = FLOW_HTTP;
	flow->http = http_new(flow, HTTP_PROXY);
	http_on_client(flow->http);
}

const char *forward_proxy_check(struct exchange *exchange,
				const struct http_request *request)
{
	const struct names *names = &exchange->flow->gate->names;

	if (request->target != HTTP_TARGET_AUTHORITY &&
	    request->target != HTTP_TARGET_ABSOLUTE)
		return "this is a proxy: the request must name its host";
	if (request->scheme == HTTP_SCHEME_HTTPS)
		return "https goes through CONNECT";
	switch (target_from_authority(names, &request->authority, PORT_HTTP,
				      &exchange->target)) {
	case TARGET_GOOD:
		return NULL;
	case TARGET_PROXY:
		return "a proxy does not go through itself";
	case TARGET_SPECIAL:
		return "this name does not exist outside";
	default:
		return "an address that stands for no name";
	}
}

void forward_proxy_accept(struct exchange *exchange)
{
	static const char established[] =
		"HTTP/1.1 200 Connection established\r\n\r\n";

	exchange->client->ops->accept(exchange->client);
	end_write(exchange->flow->client, established, strlen(established));
	http_become_flow(exchange);
}
