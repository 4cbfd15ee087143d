/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.c - ports of the guest that the host's programs can connect to
 */
#include "net/published.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "net/config.h"
#include "net/end.h"
#include "net/flow.h"
#include "net/gate.h"

#define ACCEPTS_PER_EVENT 32
#define TELL_MS 250

struct listener {
	struct published *published;
	struct list link;
	struct source source; /* its fd is owned */
	uint32_t id;
	bool is_loopback;
	uid_t owner;
	struct deadline again; /* after a failure that would come at once */
};

int published_init(struct published *published, struct gate *gate,
		   struct error *err)
{
	*published = (struct published){ .gate = gate };
	list_init(&published->listeners);
	return peer_owner_open(&published->owner, err);
}

static void listener_close(struct listener *listener)
{
	loop_del(&listener->source);
	deadline_stop(&listener->again);
	close(listener->source.fd);
	list_remove(&listener->link);
	loop_defer_free(listener->published->gate->loop, listener);
}

void published_release(struct published *published)
{
	LIST_FOR_EACH(node, &published->listeners)
		listener_close(LIST_ENTRY(node, struct listener, link));
	peer_owner_release(&published->owner);
}

/* The port in the guest; 0: it is not published any more. */
static uint16_t port_of(const struct gate *gate, uint32_t id)
{
	const struct config *config = gate->config;

	for (size_t i = 0; i < config->published_count; i++) {
		if (config->published[i].id == id)
			return config->published[i].port;
	}
	return 0;
}

static const char *refusal(const struct listener *listener, int fd,
			   uint16_t port)
{
	const struct published *published = listener->published;
	uid_t uid;

	if (!port || !published->gate->greeted)
		return "the guest is not there";
	if (published->waiting >= LIMIT_PUBLISHED_WAITING)
		return "too many connections wait for the guest";
	if (!listener->is_loopback)
		return NULL;
	if (peer_owner_find(&published->owner, fd, &uid) < 0)
		return "nobody knows whose connection this is";
	return uid == 0 || uid == listener->owner
		       ? NULL
		       : "a connection of another user";
}

static void connect_guest(struct flow *flow, uint16_t port)
{
	struct gate *gate = flow->gate;
	struct published *published = &gate->published;
	struct net_message message = { .type = NET_CONNECT,
				       .connect = { .port = port } };
	struct mux_stream *stream;

	published->last_stream += 2;
	message.connect.stream = published->last_stream;
	stream = mux_stream_open(&gate->port.mux, published->last_stream, NULL);
	if (!stream) {
		flow_deny(flow, "too many connections");
		return;
	}
	flow->server = end_stream_new(&gate->ends, stream);
	flow->server->owner = flow;
	flow->server->on_event = flow->client->on_event;
	flow->state = FLOW_CONNECTING;
	flow->stream = published->last_stream;
	published->waiting++;
	deadline_start(&gate->connect, &flow->deadline);
	port_send(&gate->port, &message);
}

static void take(struct listener *listener, int fd)
{
	struct gate *gate = listener->published->gate;
	uint16_t port = port_of(gate, listener->id);
	const char *reason = refusal(listener, fd, port);
	struct end *end = end_socket_adopt(&gate->ends, fd, "published", NULL);
	struct flow *flow;

	if (!end)
		return;
	flow = flow_new(gate, FLOW_PUBLISHED, end);
	flow->protocol = AUDIT_PUBLISHED;
	flow->target.port = port;
	flow->index = listener->id;
	flow->checked = true;
	if (reason)
		flow_deny(flow, reason);
	else
		connect_guest(flow, port);
}

static void on_accept(struct source *source, uint32_t events)
{
	struct listener *listener =
		CONTAINER_OF(source, struct listener, source);

	for (int i = 0; i < ACCEPTS_PER_EVENT; i++) {
		int fd = accept4(source->fd, NULL, NULL,
				 SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			take(listener, fd);
		} else if (errno == EAGAIN) {
			return;
		} else if (errno != EINTR && errno != ECONNABORTED) {
			log_limited(LOG_LEVEL_WARN, "a published port: accept");
			loop_wait_for(source, 0);
			deadline_start(&listener->published->gate->next_address,
				       &listener->again);
			return;
		}
	}
}

static void on_again(struct deadline *deadline)
{
	struct listener *listener =
		CONTAINER_OF(deadline, struct listener, again);

	loop_wait_for(&listener->source, EPOLLIN);
}

void published_listen(struct published *published, uint32_t id, int fd)
{
	struct listener *listener;
	struct error err = { 0 };
	struct stat st;

	published_unlisten(published, id);
	listener = xcalloc(1, sizeof(*listener));
	*listener = (struct listener){
		.published = published,
		.id = id,
		.is_loopback = peer_owner_is_loopback(fd),
		.owner = fstat(fd, &st) == 0 ? st.st_uid : 0,
		.source = { .name = "published port",
			    .fd = fd,
			    .events = EPOLLIN,
			    .on_event = on_accept },
	};
	deadline_init(&listener->again, on_again);
	list_append(&published->listeners, &listener->link);
	/* An accept that would wait must not. */
	fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
	if (loop_add(published->gate->loop, &listener->source, &err) == 0)
		return;
	log_warn("%s", err.text);
	listener_close(listener);
}

void published_unlisten(struct published *published, uint32_t id)
{
	LIST_FOR_EACH(node, &published->listeners) {
		struct listener *listener =
			LIST_ENTRY(node, struct listener, link);

		if (listener->id == id)
			listener_close(listener);
	}
}

void published_opened(struct published *published, uint32_t stream)
{
	struct mux_stream *found =
		mux_stream_find(&published->gate->port.mux, stream);
	struct end *server = found ? found->owner : NULL;
	struct flow *flow = server ? server->owner : NULL;

	if (!flow || flow->kind != FLOW_PUBLISHED ||
	    flow->state != FLOW_CONNECTING)
		return;
	published->waiting--;
	flow_join(flow, server);
}

void published_used(struct published *published)
{
	uint64_t now_ms = loop_now_ms();

	if (now_ms - published->told_ms < TELL_MS)
		return;
	published->told_ms = now_ms;
	control_say_traffic(&published->gate->control);
}

void published_recheck(struct flow *flow)
{
	if (port_of(flow->gate, flow->index) != flow->target.port)
		flow_deny(flow, "revoked");
}
