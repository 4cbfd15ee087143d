/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_relay_conn.c - a connection and its stream
 *
 * A socket is watched by edges, once and for all that may happen to it: what
 * it can do now is remembered in readable and writable, and no change of
 * interest costs a system call. Bytes from the host go from the port's buffer
 * into the socket; what it does not take waits in the stream's ring, and the
 * window that is not granted again stops the host. Bytes of the program are
 * read into the ring from which the port is written; a full one stops the
 * program.
 *
 * The life of a connection ends when both directions have, by the host's CLOSE
 * (the program sees a reset, after the bytes that its socket could take), or by
 * an error of the socket (the host sees CLOSE).
 */
#include "guest/net_relay_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/own.h"
#include "guest/net_rules.h"

#define READ_SMALL 4096
#define READ_BULK (64u * 1024)
/* Not read from a program while so much of it waits for the host. */
#define OUT_MAX (64u * 1024)
#define MEMORY_MAX (64u * 1024 * 1024)
#define EDGES (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

struct net_conn {
	struct net_relay *relay;
	struct list link;
	struct source source;      /* fd owned */
	struct mux_stream *stream; /* NULL: the connection is over */
	uint16_t port;             /* that we connect to; 0: we accepted */
	bool connecting;
	bool tried_ipv6;
	bool readable, writable;
	bool hung_up;  /* the program sends nothing more: read to the end */
	bool bulk;     /* the last read filled its room */
	bool finished; /* the end of what the program sends was read */
	bool shut;     /* the program knows that nothing more comes */
};

static void on_event(struct source *source, uint32_t events);

void net_conn_refuse(int fd)
{
	struct linger reset = { .l_onoff = 1 };

	if (fd < 0)
		return;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
	close(fd);
}

static void forget(struct net_conn *conn)
{
	struct net_relay *relay = conn->relay;

	if (relay->gather.conn == conn)
		relay->gather.conn = NULL;
	loop_del(&conn->source);
	list_remove(&conn->link);
	relay->conn_count--;
	conn->stream = NULL;
	loop_defer_free(relay->loop, conn);
}

/* Both ends hear of it, unless the host said it. */
static void reset(struct net_conn *conn, uint32_t code)
{
	int fd = conn->source.fd;

	mux_stream_close(conn->stream, code);
	forget(conn);
	net_conn_refuse(fd);
}

/* True when the connection is over: it was reset, or has ended in order. */
static bool end_if_over(struct net_conn *conn)
{
	struct mux_stream *stream = conn->stream;
	int fd = conn->source.fd;

	if (!stream)
		return true;
	if (!conn->finished || !conn->shut || stream->out.len)
		return false;
	mux_stream_close(stream, 0);
	forget(conn);
	close(fd);
	return true;
}

/* From the program to the host. */
static void pull(struct net_conn *conn)
{
	struct mux_stream *stream = conn->stream;

	while (conn->readable && !conn->finished && stream->out.len < OUT_MAX) {
		struct iovec iov[2];
		int count = mux_stream_room(
			stream, conn->bulk ? READ_BULK : READ_SMALL, iov);
		size_t room = 0;
		ssize_t n;

		for (int i = 0; i < count; i++)
			room += iov[i].iov_len;
		if (!room)
			return; /* the host closed it */
		n = readv(conn->source.fd, iov, count);
		mux_stream_filled(stream, n > 0 ? (size_t)n : 0);
		conn->bulk = n == (ssize_t)room;
		if (n == 0) {
			conn->finished = true;
			mux_stream_eof(stream);
		} else if (n < 0 && errno == EAGAIN) {
			conn->readable = false;
		} else if (n < 0 && errno != EINTR) {
			reset(conn, (uint32_t)errno);
			return;
		} else if (n > 0 && !conn->bulk && !conn->hung_up) {
			/* That was all; what comes next is a new edge. */
			conn->readable = false;
		}
	}
}

/* From the host to the program: what could not be passed on at once. */
static void push(struct net_conn *conn)
{
	struct mux_stream *stream = conn->stream;

	while (stream->in.len && conn->writable) {
		size_t len = stream->in.len;
		struct iovec iov[2];
		int count = ring_readable(&stream->in, iov);
		ssize_t n = writev(conn->source.fd, iov, count);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN) {
			reset(conn, (uint32_t)errno);
			return;
		}
		conn->writable = n == (ssize_t)len;
		if (n > 0)
			mux_stream_take(stream, (size_t)n);
	}
	if (stream->closed) {
		reset(conn, 0);
	} else if (!stream->in.len && stream->peer_eof && !conn->shut &&
		   !conn->connecting) {
		shutdown(conn->source.fd, SHUT_WR);
		conn->shut = true;
	}
}

static void move(struct net_conn *conn)
{
	push(conn);
	if (conn->stream && !conn->connecting)
		pull(conn);
	end_if_over(conn);
}

/* What the socket does not take waits in the ring; from the front. */
static void keep_rest(struct net_gather *gather, size_t sent)
{
	struct mux_stream *stream = gather->conn->stream;
	uint8_t *rest = xmalloc(gather->len - sent);
	size_t len = 0;

	for (int i = 0; i < gather->count; i++) {
		const struct iovec *piece = &gather->iov[i];
		size_t skip = sent < piece->iov_len ? sent : piece->iov_len;

		memcpy(rest + len, (uint8_t *)piece->iov_base + skip,
		       piece->iov_len - skip);
		len += piece->iov_len - skip;
		sent -= skip;
	}
	mux_stream_give_back(stream, rest, len);
	free(rest);
}

void net_conn_flush(struct net_relay *relay)
{
	struct net_gather gather = relay->gather;
	struct net_conn *conn = gather.conn;
	struct msghdr message = { .msg_iov = gather.iov,
				  .msg_iovlen = (size_t)gather.count };
	ssize_t n;
	int more;

	relay->gather.conn = NULL;
	if (!conn)
		return;
	/* The rest of the frame is on its way: one packet for all. */
	more = mux_receiving(&relay->mux) == conn->stream ? MSG_MORE : 0;
	do
		n = sendmsg(conn->source.fd, &message,
			    MSG_NOSIGNAL | MSG_DONTWAIT | more);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)gather.len)
		return;
	conn->writable = false;
	if (n < 0 && errno != EAGAIN)
		reset(conn, (uint32_t)errno);
	else
		keep_rest(&gather, n > 0 ? (size_t)n : 0);
}

size_t net_conn_on_data(struct mux_stream *stream, const uint8_t *bytes,
			size_t len)
{
	struct net_conn *conn = stream->owner;
	struct net_gather *gather;

	if (!conn)
		return 0;
	gather = &conn->relay->gather;
	if (gather->conn != conn || gather->count == NET_GATHER_MAX) {
		net_conn_flush(conn->relay);
		gather->count = 0;
		gather->len = 0;
	}
	/* It may have been reset, or be full, since it was flushed. */
	if (conn->stream != stream || !conn->writable)
		return 0;
	gather->conn = conn;
	gather->iov[gather->count++] =
		(struct iovec){ (void *)(uintptr_t)bytes, len };
	gather->len += len;
	return len;
}

void net_conn_on_stream(struct mux_stream *stream)
{
	struct net_conn *conn = stream->owner;

	if (conn && conn->relay->gather.conn == conn)
		net_conn_flush(conn->relay);
	if (conn && conn->stream)
		move(conn);
	else if (!conn && stream->closed)
		mux_stream_close(stream, 0);
}

static int watch(struct net_conn *conn)
{
	struct error err;

	conn->source = (struct source){ .name = "connection",
					.fd = conn->source.fd,
					.events = EDGES,
					.on_event = on_event };
	return loop_add(conn->relay->loop, &conn->source, &err);
}

static struct net_conn *add(struct net_relay *relay, int fd,
			    struct mux_stream *stream)
{
	struct net_conn *conn = xcalloc(1, sizeof(*conn));

	conn->relay = relay;
	conn->source.fd = fd;
	conn->stream = stream;
	list_append(&relay->conns, &conn->link);
	relay->conn_count++;
	stream->owner = conn;
	return conn;
}

void net_conn_add(struct net_relay *relay, int fd, struct mux_stream *stream)
{
	struct net_conn *conn = add(relay, fd, stream);

	conn->writable = true;
	if (watch(conn))
		reset(conn, ENOBUFS);
}

/* A socket on its way to a port of this machine; -1 with errno. */
static int begin_connect(int family, uint16_t port)
{
	AUTO_CLOSE int fd =
		socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct sockaddr_in v4 = { .sin_family = AF_INET,
				  .sin_port = htons(port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
				   .sin6_port = htons(port),
				   .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int one = 1, mark = NET_RELAY_MARK, result;

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_TCP, TCP_NODELAY, &one, sizeof(one));
	/* What the host has at this port must not be led back to it. */
	setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof(mark));
	result = family == AF_INET
			 ? connect(fd, (struct sockaddr *)&v4, sizeof(v4))
			 : connect(fd, (struct sockaddr *)&v6, sizeof(v6));
	return result && errno != EINPROGRESS ? -1 : TAKE_FD(fd);
}

/* The next way to the port; false when there is none, with errno. */
static bool try_connect(struct net_conn *conn)
{
	int fd = -1;

	if (conn->source.fd < 0)
		fd = begin_connect(AF_INET, conn->port);
	if (fd < 0 && !conn->tried_ipv6) {
		int why = conn->source.fd < 0 ? errno : ECONNREFUSED;

		conn->tried_ipv6 = true;
		fd = begin_connect(AF_INET6, conn->port);
		if (fd < 0)
			errno = why; /* of the one that people mean */
	}
	if (fd < 0)
		return false;
	loop_del(&conn->source);
	if (conn->source.fd >= 0)
		close(conn->source.fd);
	conn->source.fd = fd;
	if (watch(conn) == 0)
		return true;
	errno = ENOBUFS;
	return false;
}

void net_conn_connect(struct net_relay *relay,
		      const struct net_connect *connect)
{
	struct mux_stream *stream;
	struct net_conn *conn;

	if (connect->stream % 2 || !connect->port) {
		net_relay_cut(relay, "a bad CONNECT");
		return;
	}
	stream = mux_stream_open(&relay->mux, connect->stream, NULL);
	if (!stream) {
		net_relay_cut(relay, "a CONNECT with a stream in use");
		return;
	}
	conn = add(relay, -1, stream);
	conn->port = connect->port;
	conn->connecting = true;
	if (!try_connect(conn))
		reset(conn, (uint32_t)errno);
}

static void on_connected(struct net_conn *conn)
{
	struct net_message opened = { .type = NET_OPENED,
				      .opened = { conn->stream->id } };
	int code = 0;
	socklen_t len = sizeof(code);

	getsockopt(conn->source.fd, SOL_SOCKET, SO_ERROR, &code, &len);
	if (code) {
		errno = code;
		if (!try_connect(conn))
			reset(conn, (uint32_t)code);
		return;
	}
	conn->connecting = false;
	conn->writable = true;
	if (net_relay_send(conn->relay, &opened))
		reset(conn, ENOBUFS);
	else
		move(conn);
}

static void on_event(struct source *source, uint32_t events)
{
	struct net_conn *conn = CONTAINER_OF(source, struct net_conn, source);

	if (conn->connecting) {
		if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
			on_connected(conn);
		return;
	}
	if (events & EPOLLERR) {
		reset(conn, ECONNRESET);
		return;
	}
	if (events & (EPOLLRDHUP | EPOLLHUP))
		conn->hung_up = conn->readable = true;
	if (events & EPOLLIN)
		conn->readable = true;
	if (events & EPOLLOUT)
		conn->writable = true;
	move(conn);
}

void net_conn_reset_all(struct net_relay *relay)
{
	LIST_FOR_EACH(node, &relay->conns)
		reset(LIST_ENTRY(node, struct net_conn, link), ECONNRESET);
}

void net_conn_bound_memory(struct net_relay *relay)
{
	while (mux_memory(&relay->mux) > MEMORY_MAX) {
		struct mux_stream *stream = mux_heaviest(&relay->mux);

		log_limited(LOG_LEVEL_WARN, "too much is not read: reset");
		if (stream->owner)
			reset(stream->owner, ENOBUFS);
		else
			mux_stream_close(stream, ENOBUFS);
	}
}
