/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_bridge.c - lets a program that speaks TCP load bawn-net through its port
 *
 * usage: net_bridge LISTEN port NAME PORT       (the port is descriptor 3)
 *        net_bridge LISTEN tcp ADDRESS PORT
 *
 * Listens on 127.0.0.1:LISTEN and says "ready". Each connection becomes a
 * stream of the port to NAME:PORT, or another connection. Proxies that listen
 * themselves get the second form, so that all pay for a bridge alike.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "guest_port.h"

#define TCP_RING (256u * 1024)

static struct loop *loop;
static uint16_t target_port;
static const char *listen_port;
static struct source listener = { .name = "listener", .events = EPOLLIN };

static void die(const char *what)
{
	fprintf(stderr, "net_bridge: %s: %s\n", what, strerror(errno));
	exit(1);
}

static struct sockaddr_in address_of(const char *text, const char *port_text)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	uint64_t number = 0;

	if (inet_pton(AF_INET, text, &address.sin_addr) != 1 ||
	    text_to_u64(port_text, 1, 65535, &number) < 0)
		die("address");
	address.sin_port = htons((uint16_t)number);
	return address;
}

static void set_no_delay(int fd)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

static void begin_to_listen(void)
{
	struct sockaddr_in at = address_of("127.0.0.1", listen_port);
	const int on = 1;

	listener.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(listener.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(listener.fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(listener.fd, 4096) < 0)
		die("listener");
	loop_add(loop, &listener, NULL);
	printf("ready\n");
	fflush(stdout);
}

static int take_connection(void)
{
	int fd = accept4(listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd >= 0)
		set_no_delay(fd);
	return fd;
}

/* --- to the port --- */

struct guest {
	struct source source;
	struct mux_stream *stream;
	bool eof; /* of the client */
};

static void guest_end(struct guest *guest, uint32_t code)
{
	loop_del(&guest->source);
	close(guest->source.fd);
	mux_stream_close(guest->stream, code);
	loop_defer_free(loop, guest);
}

static void guest_wait(struct guest *guest)
{
	loop_wait_for(&guest->source,
		      (!guest->eof && mux_stream_space(guest->stream) ? EPOLLIN
								      : 0U) |
			      (guest->stream->in.len ? EPOLLOUT : 0U));
}

/* To the client; false: it is gone. */
static bool guest_give(struct guest *guest)
{
	struct mux_stream *stream = guest->stream;
	struct iovec iov[2];
	int count;

	while ((count = ring_readable(&stream->in, iov)) > 0) {
		const struct msghdr message = { .msg_iov = iov,
						.msg_iovlen = (size_t)count };
		ssize_t n = sendmsg(guest->source.fd, &message, MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return true;
		if (n < 0)
			return false;
		mux_stream_take(stream, (size_t)n);
	}
	if (stream->peer_eof)
		shutdown(guest->source.fd, SHUT_WR);
	return !(stream->peer_eof && guest->eof);
}

static void guest_on_event(struct source *source, uint32_t events)
{
	struct guest *guest = CONTAINER_OF(source, struct guest, source);
	struct iovec iov[2];
	ssize_t n = -1;
	int count = guest->eof ? 0 : mux_stream_room(guest->stream, 16384, iov);

	if (count) {
		n = readv(source->fd, iov, count);
		mux_stream_filled(guest->stream, n > 0 ? (size_t)n : 0);
		if (n < 0 && errno != EAGAIN) {
			guest_end(guest, ECONNRESET);
			return;
		}
	}
	if (n == 0) {
		guest->eof = true;
		mux_stream_eof(guest->stream);
	}
	if (!guest_give(guest))
		guest_end(guest, 0);
	else
		guest_wait(guest);
}

static void port_on_accept(struct source *source, uint32_t events)
{
	int fd;

	while ((fd = take_connection()) >= 0) {
		struct guest *guest = xcalloc(1, sizeof(*guest));

		guest->stream = guest_port_open(target_port, guest);
		guest->source = (struct source){ .name = "client",
						 .fd = fd,
						 .events = EPOLLIN,
						 .on_event = guest_on_event };
		loop_add(loop, &guest->source, NULL);
	}
}

static size_t port_on_data(void *ctx, struct mux_stream *stream,
			   const uint8_t *bytes, size_t len)
{
	struct guest *guest = stream->owner;
	ssize_t n = send(guest->source.fd, bytes, len, MSG_NOSIGNAL);

	return n > 0 ? (size_t)n : 0;
}

static void port_on_stream(void *ctx, struct mux_stream *stream)
{
	struct guest *guest = stream->owner;

	if (stream->closed || !guest_give(guest))
		guest_end(guest, 0);
	else
		guest_wait(guest);
}

static void port_on_address(void)
{
	listener.on_event = port_on_accept;
	begin_to_listen();
}

static const struct guest_port_ops port_ops = { .on_address = port_on_address,
						.on_stream = port_on_stream,
						.on_data = port_on_data };

/* --- to a proxy --- */

static struct sockaddr_in proxy;

struct half {
	struct source source;
	struct half *other;
	struct ring in; /* read here, not yet written there */
	bool eof, gone;
};

static void pair_end(struct half *half)
{
	struct half *other = half->other;

	if (half->gone)
		return;
	half->gone = other->gone = true;
	loop_del(&half->source);
	loop_del(&other->source);
	close(half->source.fd);
	close(other->source.fd);
	ring_release(&half->in);
	ring_release(&other->in);
	loop_defer_free(loop, half);
	loop_defer_free(loop, other);
}

static void half_wait(struct half *half)
{
	loop_wait_for(&half->source,
		      (!half->eof && ring_space(&half->in) ? EPOLLIN : 0U) |
			      (half->other->in.len ? EPOLLOUT : 0U));
}

/* What came from the other side; false: it is gone. */
static bool half_give(struct half *half)
{
	struct half *from = half->other;

	if (from->in.len && ring_drain_to(&from->in, half->source.fd) < 0 &&
	    errno != EAGAIN && errno != ENOTCONN)
		return false;
	if (!from->in.len) {
		ring_trim(&from->in);
		if (from->eof)
			shutdown(half->source.fd, SHUT_WR);
	}
	return !(from->eof && half->eof && !from->in.len && !half->in.len);
}

static void half_on_event(struct source *source, uint32_t events)
{
	struct half *half = CONTAINER_OF(source, struct half, source);
	struct iovec iov[2];
	int count = half->eof ? 0 : ring_room(&half->in, 16384, iov);

	if (count && (events & (EPOLLIN | EPOLLHUP | EPOLLERR))) {
		ssize_t n = readv(source->fd, iov, count);

		ring_produced(&half->in, n > 0 ? (size_t)n : 0);
		half->eof = n == 0;
		if (n < 0 && errno != EAGAIN) {
			pair_end(half);
			return;
		}
	}
	if (!half_give(half->other) || !half_give(half)) {
		pair_end(half);
		return;
	}
	half_wait(half);
	half_wait(half->other);
}

static struct half *new_half(int fd)
{
	struct half *half = xcalloc(1, sizeof(*half));

	half->source = (struct source){ .name = "half",
					.fd = fd,
					.events = EPOLLIN,
					.on_event = half_on_event };
	ring_init(&half->in, TCP_RING);
	loop_add(loop, &half->source, NULL);
	return half;
}

static void tcp_on_accept(struct source *source, uint32_t events)
{
	int fd;

	while ((fd = take_connection()) >= 0) {
		int out = socket(AF_INET,
				 SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		struct half *left, *right;

		if (out < 0 || (connect(out, (struct sockaddr *)&proxy,
					sizeof(proxy)) < 0 &&
				errno != EINPROGRESS))
			die("proxy");
		set_no_delay(out);
		left = new_half(fd);
		right = new_half(out);
		left->other = right;
		right->other = left;
	}
}

int main(int argc, char **argv)
{
	struct rlimit limit;
	uint64_t number = 0;

	if (argc != 5 || text_to_u64(argv[4], 1, 65535, &number) < 0)
		return 2;
	target_port = (uint16_t)number;
	listen_port = argv[1];
	signal(SIGPIPE, SIG_IGN);
	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	loop = loop_new(NULL);
	if (strcmp(argv[2], "port") == 0) {
		guest_port_run(loop, argv[3], &port_ops);
		return 0;
	}
	proxy = address_of(argv[3], argv[4]);
	listener.on_event = tcp_on_accept;
	begin_to_listen();
	loop_run(loop, NULL);
	return 0;
}
