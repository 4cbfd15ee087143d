/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sockets.c - Unix sockets of the host that a guest shares
 */
#include "net/sockets.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/config.h"
#include "net/control.h"
#include "net/end.h"
#include "net/flow.h"
#include "net/gate.h"

void sockets_init(struct sockets *sockets, struct gate *gate)
{
	sockets->gate = gate;
}

void sockets_open(struct sockets *sockets, struct end *client, uint32_t stream,
		  unsigned index)
{
	struct gate *gate = sockets->gate;
	const struct config *config = gate->config;
	struct flow *flow = flow_new(gate, FLOW_SOCKET, client);

	flow->protocol = AUDIT_SOCKET;
	flow->stream = stream;
	flow->index = index;
	flow->checked = true;
	if (index >= config->socket_count) {
		flow_deny(flow, "no such socket is shared");
		return;
	}
	flow->target.name = xstrdup(config->sockets[index]);
	flow->state = FLOW_CONNECTING;
	deadline_start(&gate->socket, &flow->deadline);
	if (control_say_socket(&gate->control, flow->id, index) < 0)
		flow_deny(flow, "the launcher does not listen");
}

static struct flow *find(struct gate *gate, uint32_t id)
{
	LIST_FOR_EACH(node, &gate->flows) {
		struct flow *flow = LIST_ENTRY(node, struct flow, link);

		if (flow->id == id && flow->kind == FLOW_SOCKET &&
		    flow->state == FLOW_CONNECTING)
			return flow;
	}
	return NULL;
}

void sockets_connected(struct sockets *sockets, uint32_t id, int fd)
{
	struct gate *gate = sockets->gate;
	struct flow *flow = find(gate, id);
	struct net_message opened = { .type = NET_OPENED };
	struct end *server;

	if (!flow) { /* its client has gone */
		if (fd >= 0)
			close(fd);
		return;
	}
	server =
		fd < 0 ? NULL
		       : end_socket_adopt(&gate->ends, fd, "unix socket", NULL);
	if (!server) {
		flow_log(flow, AUDIT_ALLOW, "the socket cannot be reached");
		flow_close(flow, ECONNREFUSED);
		return;
	}
	opened.opened.stream = flow->stream;
	port_send(&gate->port, &opened);
	flow_join(flow, server);
}

void sockets_recheck(struct flow *flow)
{
	const struct config *config = flow->gate->config;

	if (flow->index >= config->socket_count ||
	    strcmp(config->sockets[flow->index], flow->target.name) != 0)
		flow_deny(flow, "revoked");
}

void sockets_announce(struct sockets *sockets)
{
	const struct config *config = sockets->gate->config;
	struct net_message message = {
		.type = NET_SOCKETS,
		.sockets = { .count = (uint32_t)config->socket_count },
	};

	for (size_t i = 0; i < config->socket_count; i++)
		message.sockets.paths[i] = config->sockets[i];
	port_send(&sockets->gate->port, &message);
}
