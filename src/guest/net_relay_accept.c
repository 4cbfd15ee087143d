/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_relay_accept.c - listeners, and where a connection was meant to go
 *
 * Connections wait in the kernel's queue while nobody serves (bawn-net begins
 * or begins anew), for some seconds; then they are refused. They also wait
 * while the host does not take what was sent to it.
 */
#include "guest/net_relay_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter_ipv4.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "guest/net_rules.h"

#define ACCEPTS_PER_EVENT 64
#define QUEUE 4096
#define REFUSE_MS 5000
#define PAUSE_MS 100
/* Of messages that wait for the host; OPEN is one. */
#define BACKLOG_MAX (256u * 1024)
#define DNS_PORT 53

static int listen_on(int family, int type, uint16_t port)
{
	AUTO_CLOSE int fd =
		socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	bool transparent = port == NET_FORWARD_PORT;
	int one = 1;

	if (fd < 0)
		return -1;
	if (transparent)
		v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (transparent &&
	    setsockopt(fd, family == AF_INET ? SOL_IP : SOL_IPV6,
		       family == AF_INET ? IP_TRANSPARENT : IPV6_TRANSPARENT,
		       &one, sizeof(one)))
		return -1;
	if (family == AF_INET ? bind(fd, (struct sockaddr *)&v4, sizeof(v4))
			      : bind(fd, (struct sockaddr *)&v6, sizeof(v6)))
		return -1;
	if (type == SOCK_DGRAM)
		return setsockopt(fd, SOL_IP, IP_PKTINFO, &one, sizeof(one))
			       ? -1
			       : TAKE_FD(fd);
	/* What is accepted inherits it. */
	setsockopt(fd, SOL_TCP, TCP_NODELAY, &one, sizeof(one));
	return listen(fd, QUEUE) ? -1 : TAKE_FD(fd);
}

int net_relay_listen(int fds[NET_RELAY_FDS])
{
	fds[NET_RELAY_FD_TCP] = listen_on(AF_INET, SOCK_STREAM, NET_RELAY_PORT);
	fds[NET_RELAY_FD_UDP] = listen_on(AF_INET, SOCK_DGRAM, NET_RELAY_PORT);
	fds[NET_RELAY_FD_FORWARD] =
		listen_on(AF_INET, SOCK_STREAM, NET_FORWARD_PORT);
	fds[NET_RELAY_FD_FORWARD6] =
		listen_on(AF_INET6, SOCK_STREAM, NET_FORWARD_PORT);
	return fds[NET_RELAY_FD_TCP] < 0 || fds[NET_RELAY_FD_UDP] < 0 ? -1 : 0;
}

static void open_address(struct net_relay *relay, int fd,
			 const struct sockaddr_in *address,
			 enum net_origin origin)
{
	uint32_t id = net_relay_next_stream(relay);
	struct mux_stream *stream = mux_stream_open(&relay->mux, id, NULL);
	struct net_message message = {
		.type = NET_OPEN,
		.open = { .stream = id,
			  .family = 4,
			  .port = ntohs(address->sin_port),
			  .origin = (uint8_t)origin },
	};

	memcpy(message.open.address, &address->sin_addr,
	       sizeof(address->sin_addr));
	if (!stream || net_relay_send(relay, &message)) {
		log_limited(LOG_LEVEL_WARN, "too many connections");
		if (stream)
			mux_stream_close(stream, ENOBUFS);
		net_conn_refuse(fd);
		return;
	}
	net_conn_add(relay, fd, stream);
}

static bool is_loopback(const struct sockaddr_in *address)
{
	return ntohl(address->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

/* Redirected; or somebody connected to the relay itself, which leads nowhere */
static void on_tcp(struct net_listener *listener, int fd)
{
	struct net_relay *relay = listener->relay;
	struct sockaddr_in meant = { 0 }, local = { 0 };
	socklen_t meant_len = sizeof(meant), local_len = sizeof(local);

	if (getsockopt(fd, SOL_IP, SO_ORIGINAL_DST, &meant, &meant_len) ||
	    getsockname(fd, (struct sockaddr *)&local, &local_len) ||
	    meant.sin_family != AF_INET ||
	    (meant.sin_addr.s_addr == local.sin_addr.s_addr &&
	     meant.sin_port == local.sin_port)) {
		net_conn_refuse(fd);
		return;
	}
	if (ntohs(meant.sin_port) == DNS_PORT) {
		net_dns_accept(relay, fd);
		return;
	}
	/* The kernel redirects its own processes' to 127.0.0.1. */
	open_address(relay, fd, &meant,
		     is_loopback(&local) ? NET_ORIGIN_PROCESS
					 : NET_ORIGIN_FORWARDED);
}

/* A loopback port of the host: its number is the one that was asked for. */
static void on_forward(struct net_listener *listener, int fd)
{
	struct sockaddr_in6 local = { 0 };
	socklen_t len = sizeof(local);
	struct sockaddr_in meant = {
		.sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};

	/* The port lies at the same place in both kinds of address. */
	if (getsockname(fd, (struct sockaddr *)&local, &len) ||
	    ntohs(local.sin6_port) == NET_FORWARD_PORT) {
		net_conn_refuse(fd);
		return;
	}
	meant.sin_port = local.sin6_port;
	open_address(listener->relay, fd, &meant, NET_ORIGIN_PROCESS);
}

/* False when there is none left, or none can be had. */
static bool accept_one(struct net_listener *listener,
		       void (*use)(struct net_listener *, int))
{
	struct net_relay *relay = listener->relay;
	int fd = accept4(listener->source.fd, NULL, NULL,
			 SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0) {
		use(listener, fd);
		return true;
	}
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM ||
	    errno == ENOBUFS) {
		log_limited(LOG_LEVEL_WARN, "accept: %s", strerror(errno));
		timer_start(relay->loop, &relay->pause, PAUSE_MS);
		net_accept_update(relay);
		return false;
	}
	return errno == ECONNABORTED || errno == EINTR;
}

static void on_event(struct source *source, uint32_t events)
{
	struct net_listener *listener =
		CONTAINER_OF(source, struct net_listener, source);
	struct net_relay *relay = listener->relay;

	if (relay->state != NET_SERVED) {
		if (!relay->refuse.loop)
			timer_start(relay->loop, &relay->refuse, REFUSE_MS);
		loop_wait_for(source, 0);
		return;
	}
	for (int i = 0; i < ACCEPTS_PER_EVENT && relay->accepting; i++) {
		if (!accept_one(listener, listener->on_connection))
			break;
	}
}

static void refuse_one(struct net_listener *listener, int fd)
{
	net_conn_refuse(fd);
}

static void for_each_listener(struct net_relay *relay,
			      void (*use)(struct net_listener *))
{
	use(&relay->tcp);
	use(&relay->forward);
	use(&relay->forward6);
	for (unsigned i = 0; i < NET_SOCKETS_MAX; i++)
		use(&relay->sockets[i].listener);
}

static void refuse_all(struct net_listener *listener)
{
	if (!listener->source.loop)
		return;
	for (int i = 0; i < QUEUE && accept_one(listener, refuse_one); i++)
		;
	loop_wait_for(&listener->source, EPOLLIN);
}

static void on_refuse(struct timer *timer)
{
	struct net_relay *relay = CONTAINER_OF(timer, struct net_relay, refuse);

	if (relay->state == NET_SERVED)
		return;
	for_each_listener(relay, refuse_all);
	net_dns_refuse(relay);
}

static void on_pause(struct timer *timer)
{
	net_accept_update(CONTAINER_OF(timer, struct net_relay, pause));
}

/* While nobody serves, the first one that comes starts the clock. */
static void update(struct net_listener *listener)
{
	const struct net_relay *relay = listener->relay;

	if (listener->source.loop)
		loop_wait_for(&listener->source,
			      relay->accepting || relay->state != NET_SERVED
				      ? EPOLLIN
				      : 0);
}

void net_accept_update(struct net_relay *relay)
{
	bool accepting = relay->state == NET_SERVED && !relay->pause.loop &&
			 mux_backlog(&relay->mux) < BACKLOG_MAX;

	if (relay->state == NET_SERVED)
		timer_stop(&relay->refuse);
	if (accepting == relay->accepting)
		return;
	relay->accepting = accepting;
	for_each_listener(relay, update);
	net_dns_update(relay);
}

void net_listener_init(struct net_listener *listener, struct net_relay *relay,
		       int fd,
		       void (*on_connection)(struct net_listener *, int))
{
	*listener = (struct net_listener){ .relay = relay,
					   .source = { .name = "listener",
						       .fd = fd,
						       .events = EPOLLIN,
						       .on_event = on_event },
					   .on_connection = on_connection };
}

int net_listener_start(struct net_listener *listener)
{
	struct error err;

	if (loop_add(listener->relay->loop, &listener->source, &err)) {
		log_error("%s", err.text);
		return -1;
	}
	update(listener);
	return 0;
}

void net_listener_stop(struct net_listener *listener)
{
	loop_del(&listener->source);
	if (listener->source.fd >= 0)
		close(listener->source.fd);
	listener->source.fd = -1;
}

int net_accept_start(struct net_relay *relay, const int fds[NET_RELAY_FDS])
{
	relay->refuse =
		(struct timer){ .name = "refuse", .on_fire = on_refuse };
	relay->pause = (struct timer){ .name = "pause", .on_fire = on_pause };
	net_listener_init(&relay->tcp, relay, fds[NET_RELAY_FD_TCP], on_tcp);
	net_listener_init(&relay->forward, relay, fds[NET_RELAY_FD_FORWARD],
			  on_forward);
	net_listener_init(&relay->forward6, relay, fds[NET_RELAY_FD_FORWARD6],
			  on_forward);
	/* Without forwards it is of use, too. */
	if (relay->forward.source.fd >= 0)
		net_listener_start(&relay->forward);
	if (relay->forward6.source.fd >= 0)
		net_listener_start(&relay->forward6);
	return net_listener_start(&relay->tcp);
}
