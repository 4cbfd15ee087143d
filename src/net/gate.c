/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.c - all that bawn-net holds, and what happens to the whole of it
 */
#include "net/gate.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "net/bindings.h"
#include "net/config.h"
#include "net/flow.h"
#include "net/guest.h"
#include "net/http.h"
#include "net/resolver.h"

void gate_stop(struct gate *gate, const char *why)
{
	if (!gate->why)
		gate->why = why;
	loop_stop(gate->loop);
}

static void on_log_full(void *ctx)
{
	struct gate *gate = ctx;

	control_say_rotate(&gate->control);
}

static void on_trust_gone(void *ctx)
{
	struct gate *gate = ctx;

	control_say_trust(&gate->control);
}

void gate_use_log(struct gate *gate, int fd)
{
	audit_use(&gate->audit, fd);
	if (gate->log_fd >= 0)
		close(gate->log_fd);
	gate->log_fd = fd;
}

/* By its stream of the port, or by those that HTTP/2 has inside it. */
static struct flow *find_heaviest(struct gate *gate)
{
	struct mux_stream *stream = mux_heaviest(&gate->port.mux);
	struct end *end = stream ? stream->owner : NULL;
	size_t most = end ? stream->memory : 0;
	struct flow *heaviest;

	while (end && end->upper)
		end = end->upper;
	heaviest = end ? end->owner : NULL;
	LIST_FOR_EACH(node, &gate->flows) {
		struct flow *flow = LIST_ENTRY(node, struct flow, link);

		if (!flow->http || flow->http->memory <= most)
			continue;
		most = flow->http->memory;
		heaviest = flow;
	}
	return heaviest;
}

/* The guest, or the servers, sent more than is taken from us. */
static void shed(struct gate *gate)
{
	while (mux_memory(&gate->port.mux) + gate->ends.buffered >
	       LIMIT_BUFFERED) {
		struct flow *heaviest = find_heaviest(gate);

		if (!heaviest)
			return;
		flow_shed(heaviest);
	}
}

/* The end of a round: what it produced leaves. */
static void before_wait(void *ctx)
{
	struct gate *gate = ctx;

	shed(gate);
	/* A flow may end because its last byte left: then there is a line. */
	port_flush(&gate->port);
	audit_flush(&gate->audit);
}

static void init_deadlines(struct gate *gate)
{
	struct loop *loop = gate->loop;

	deadlines_init(&gate->soon, loop, "soon", 0);
	deadlines_init(&gate->peek, loop, "peek", LIMIT_PEEK_MS);
	deadlines_init(&gate->connect, loop, "connect", LIMIT_CONNECT_MS);
	deadlines_init(&gate->next_address, loop, "next address",
		       LIMIT_NEXT_ADDRESS_MS);
	deadlines_init(&gate->linger, loop, "linger", LIMIT_LINGER_MS);
	deadlines_init(&gate->socket, loop, "unix socket", LIMIT_SOCKET_MS);
	deadlines_init(&gate->layer, loop, "layer", LIMIT_LAYER_MS);
}

int gate_init(struct gate *gate, struct loop *loop, struct config *config,
	      const struct gate_fds *fds, struct error *err)
{
	*gate = (struct gate){ .loop = loop,
			       .start = config,
			       .config = config,
			       .log_fd = -1,
			       .ends = { .loop = loop } };
	list_init(&gate->flows);
	init_deadlines(gate);
	asks_init(&gate->asks, gate);
	sockets_init(&gate->sockets, gate);
	layers_init(&gate->layers, gate);
	renew_init(&gate->renewals, gate);
	guest_init(gate, fds->port);
	if (port_map_slots(&gate->port, fds->slots, err) < 0 ||
	    published_init(&gate->published, gate, err) < 0 ||
	    names_open(&gate->names, fds->names, err) < 0 ||
	    audit_open(&gate->audit, fds->log, config->sandbox, err) < 0 ||
	    trust_open(&gate->trust, err) < 0 ||
	    ca_open(&gate->ca, config->ca_certificate, config->ca_key, err) <
		    0 ||
	    control_init(&gate->control, gate, fds->control, err) < 0 ||
	    keys_init(&gate->keys, gate, fds->keys, err) < 0)
		return -1;
	/* As far as the user may lock memory. */
	(void)!mlock(gate->secret_arena, sizeof(gate->secret_arena));
	(void)!mlock(gate->encoded, sizeof(gate->encoded));
	config_forget_key(config);
	gate->trust.on_gone = on_trust_gone;
	gate->trust.ctx = gate;
	gate->audit.on_full = on_log_full;
	gate->audit.ctx = gate;
	gate->resolver = resolver_new(loop, err);
	if (!gate->resolver)
		return -1;
	resolver_use(gate->resolver, config->servers);
	loop_before_wait(loop, before_wait, gate);
	return 0;
}

int gate_start(struct gate *gate, struct error *err)
{
	if (gate->start->has_marker)
		port_expect_marker(&gate->port, gate->start->marker);
	return port_start(&gate->port, gate->loop, err);
}

static void close_flows(struct gate *gate)
{
	while (!list_empty(&gate->flows))
		flow_close(LIST_ENTRY(gate->flows.next, struct flow, link),
			   ECONNRESET);
}

void gate_release(struct gate *gate)
{
	loop_before_wait(gate->loop, NULL, NULL);
	close_flows(gate);
	audit_flush(&gate->audit);
	published_release(&gate->published);
	asks_release(&gate->asks);
	layers_release(&gate->layers);
	resolver_free(gate->resolver);
	control_release(&gate->control);
	keys_release(&gate->keys);
	renew_release(&gate->renewals);
	bindings_unref(gate->bindings);
	port_release(&gate->port);
	names_release(&gate->names);
	audit_release(&gate->audit);
	trust_release(&gate->trust);
	ca_release(&gate->ca);
	if (gate->log_fd >= 0)
		close(gate->log_fd);
	if (gate->config != gate->start)
		config_free(gate->config);
	config_free(gate->start);
}

/* A flow that is closed may close another one: so none is remembered. */
static void recheck_all(struct gate *gate)
{
	struct list todo;

	list_init(&todo);
	while (!list_empty(&gate->flows)) {
		struct list *node = gate->flows.next;

		list_remove(node);
		list_append(&todo, node);
	}
	while (!list_empty(&todo)) {
		struct list *node = todo.next;

		list_remove(node);
		list_append(&gate->flows, node);
		flow_recheck(LIST_ENTRY(node, struct flow, link));
	}
}

void gate_use_bindings(struct gate *gate, struct bindings *bindings)
{
	struct bindings *old = gate->bindings;

	gate->bindings = bindings;
	bindings_unref(old);
	recheck_all(gate);
}

int gate_reconfigure(struct gate *gate, int fd, struct error *err)
{
	struct config *config = config_read(fd, CONFIG_CHANGE, err);

	if (!config)
		return -1;
	if (gate->config != gate->start)
		config_free(gate->config);
	gate->config = config;
	resolver_use(gate->resolver, config->servers);
	if (gate->greeted)
		guest_tell_settings(gate);
	recheck_all(gate);
	return 0;
}
