/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.c - what the guest's relay says, and what it is told
 */
#include "net/guest.h"

#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "net/config.h"
#include "net/dns_server.h"
#include "net/flow.h"
#include "net/forward_proxy.h"
#include "net/gate.h"
#include "policy/policy.h"

void guest_tell_settings(struct gate *gate)
{
	struct net_message message = { .type = NET_FORWARDS };
	size_t count = policy_localhost_ports(
		gate->config->policy, message.forwards.ports, NET_FORWARDS_MAX);

	message.forwards.count =
		(uint32_t)(count < NET_FORWARDS_MAX ? count : NET_FORWARDS_MAX);
	port_send(&gate->port, &message);
	sockets_announce(&gate->sockets);
}

static int on_hello(struct gate *gate, const struct net_message *message)
{
	struct net_message welcome = { .type = NET_WELCOME,
				       .welcome = { .version = NET_VERSION } };

	/* A relay that knows no marker may begin again; nothing was lost. */
	if (message->hello.version != NET_VERSION || !list_empty(&gate->flows))
		return -1;
	port_use_slots(&gate->port,
		       message->hello.features & NET_FEATURE_SLOTS);
	memcpy(welcome.welcome.next_marker, gate->start->next_marker,
	       NET_MARKER_BYTES);
	port_send(&gate->port, &welcome);
	gate->greeted = true;
	guest_tell_settings(gate);
	control_say_welcomed(&gate->control);
	return 0;
}

/* NULL: it was refused, and the guest was told. */
static struct end *open_stream(struct gate *gate, uint32_t id)
{
	struct mux_stream *stream = mux_stream_open(&gate->port.mux, id, NULL);

	if (stream)
		return end_stream_new(&gate->ends, stream);
	log_limited(LOG_LEVEL_WARN, "the guest has too many connections");
	mux_refuse(&gate->port.mux, id, EAGAIN);
	return NULL;
}

/* Ours are even; one that is open already cannot be opened. */
static bool is_good_id(struct gate *gate, uint32_t id)
{
	return id % 2 == 1 && !mux_stream_find(&gate->port.mux, id);
}

static void refuse_open(struct gate *gate, struct end *client,
			const struct address *address, uint16_t port)
{
	const struct audit_record record = {
		.address = *address,
		.port = port,
		.verdict = AUDIT_DENY,
		.reason = "an address that stands for no name",
	};

	audit_write(&gate->audit, &record);
	end_close(client, EHOSTUNREACH);
}

static int on_open(struct gate *gate, const struct net_message *message)
{
	const struct net_open *open = &message->open;
	struct address address;
	struct target target;
	struct end *client;
	struct flow *flow;

	if (!is_good_id(gate, open->stream) ||
	    address_make(open->family, open->address, &address) < 0)
		return -1;
	client = open_stream(gate, open->stream);
	if (!client)
		return 0;
	switch (target_from_address(&gate->names, &address, open->port,
				    &target)) {
	case TARGET_GOOD:
		flow = flow_new(gate, FLOW_OUT, client);
		flow->target = target;
		flow->stream = open->stream;
		flow_begin(flow);
		break;
	case TARGET_PROXY:
		forward_proxy_open(gate, client, open->stream);
		break;
	default:
		refuse_open(gate, client, &address, open->port);
	}
	return 0;
}

static int on_open_socket(struct gate *gate, const struct net_message *message)
{
	const struct net_open_socket *open = &message->open_socket;
	struct end *client;

	if (!is_good_id(gate, open->stream))
		return -1;
	client = open_stream(gate, open->stream);
	if (client)
		sockets_open(&gate->sockets, client, open->stream, open->index);
	return 0;
}

static int on_opened(struct gate *gate, const struct net_message *message)
{
	if (message->opened.stream % 2)
		return -1;
	published_opened(&gate->published, message->opened.stream);
	return 0;
}

static int on_dns_query(struct gate *gate, const struct net_message *message)
{
	dns_server_on_query(gate, &message->dns);
	return 0;
}

static int (*const handlers[NET_MESSAGE_TYPES])(
	struct gate *gate, const struct net_message *message) = {
	[NET_HELLO] = on_hello,
	[NET_OPEN] = on_open,
	[NET_OPEN_SOCKET] = on_open_socket,
	[NET_OPENED] = on_opened,
	[NET_DNS_QUERY] = on_dns_query,
};

static int on_message(void *ctx, const struct net_message *message)
{
	struct gate *gate = ctx;

	if (!handlers[message->type])
		return -1; /* it is ours to say */
	if (!gate->greeted && message->type != NET_HELLO)
		return -1;
	return handlers[message->type](gate, message);
}

static void on_stream(void *ctx, struct mux_stream *stream)
{
	end_stream_on_change(stream);
}

static void on_marker(void *ctx)
{
	/* HELLO is what we wait for. */
}

static void on_end(void *ctx, const char *why)
{
	struct gate *gate = ctx;

	if (why)
		log_error("net port: %s", why);
	gate_stop(gate, why ? "the guest broke the protocol" : NULL);
}

static const struct port_ops port_ops = { .on_message = on_message,
					  .on_stream = on_stream,
					  .on_marker = on_marker,
					  .on_end = on_end };

void guest_init(struct gate *gate, int port_fd)
{
	port_init(&gate->port, port_fd, &port_ops, gate);
}
