/* SPDX-License-Identifier: Apache-2.0 */
/*
 * end_socket.c - an end that is a stream socket
 *
 * Buffers take memory only while they hold something. Nothing is read unless
 * the user asks: when an event came and the user did not read, it has no room,
 * and the socket is left alone (`paused`) until it asks again. A socket that
 * has hung up would be reported for ever, so it leaves the loop while paused.
 *
 * An error of the peer is not looked for but met by reading, after the bytes
 * that came before it.
 */
#include "net/end.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/ring.h"
#include "net/limit.h"
#include "wire/address.h"

#define FILL_BYTES (32u * 1024)

struct end_socket {
	struct end end;
	struct ends *ends;
	struct source source; /* its fd is owned */
	struct ring in, out;
	size_t memory; /* of the rings, as counted in ends */
	bool readable; /* as far as we know */
	bool was_read; /* since the last event */
	bool paused, hung_up;
};

static struct end_socket *socket_of(const struct end *end)
{
	return CONTAINER_OF(end, struct end_socket, end);
}

static void count_memory(struct end_socket *self)
{
	size_t memory = self->in.size + self->out.size;

	self->ends->buffered += memory;
	self->ends->buffered -= self->memory;
	self->memory = memory;
}

static void update_events(struct end_socket *self)
{
	uint32_t events = 0;

	if (!self->end.connected || self->out.len)
		events |= EPOLLOUT;
	if (self->end.connected && !self->end.eof && !self->paused)
		events |= EPOLLIN;
	loop_wait_for(&self->source, events);
}

static void fail(struct end_socket *self, int code)
{
	if (!self->end.error)
		self->end.error = code ? code : ECONNRESET;
	self->readable = false;
}

static int pending_error(const struct end_socket *self)
{
	int code = 0;
	socklen_t len = sizeof(code);

	if (getsockopt(self->source.fd, SOL_SOCKET, SO_ERROR, &code, &len) < 0)
		return errno;
	return code;
}

static void unpause(struct end_socket *self)
{
	self->was_read = true;
	if (!self->paused)
		return;
	self->paused = false;
	if (self->hung_up && !self->source.loop &&
	    loop_add(self->ends->loop, &self->source, NULL) < 0)
		fail(self, ENOMEM);
}

static bool socket_readable(const struct end *end)
{
	return socket_of(end)->readable && !end->eof && !end->error;
}

static ssize_t socket_read(struct end *end, const struct iovec *iov, int count)
{
	struct end_socket *self = socket_of(end);
	size_t wanted = 0;
	ssize_t n;

	if (!socket_readable(end))
		return 0;
	unpause(self);
	for (int i = 0; i < count; i++)
		wanted += iov[i].iov_len;
	n = readv(self->source.fd, iov, count);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		fail(self, errno);
	else if (n == 0)
		end->eof = true;
	if (n < (ssize_t)wanted)
		self->readable = false;
	update_events(self);
	return n > 0 ? n : 0;
}

static void socket_fill(struct end *end)
{
	struct end_socket *self = socket_of(end);
	struct iovec iov[2];
	int count = self->readable ? ring_room(&self->in, FILL_BYTES, iov) : 0;
	ssize_t n;

	if (!count)
		return;
	n = socket_read(end, iov, count);
	ring_produced(&self->in, (size_t)n);
	ring_trim(&self->in);
	count_memory(self);
}

static int socket_peek(const struct end *end, struct iovec iov[2])
{
	return ring_readable(&socket_of(end)->in, iov);
}

static void socket_take(struct end *end, size_t len)
{
	struct end_socket *self = socket_of(end);

	ring_consume(&self->in, len);
	ring_trim(&self->in);
	count_memory(self);
}

static size_t socket_space(const struct end *end)
{
	return ring_space(&socket_of(end)->out);
}

/* What the kernel takes at once; the rest is for the ring. */
static size_t send_now(struct end_socket *self, const void *bytes, size_t len)
{
	ssize_t n;

	if (!self->end.connected || self->out.len)
		return 0;
	n = send(self->source.fd, bytes, len, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0 && errno != EAGAIN && errno != EINTR)
		fail(self, errno);
	return n > 0 ? (size_t)n : 0;
}

static size_t socket_write(struct end *end, const void *bytes, size_t len)
{
	struct end_socket *self = socket_of(end);
	size_t done = send_now(self, bytes, len);

	if (end->error || done == len)
		return done;
	done += ring_write(&self->out, (const uint8_t *)bytes + done,
			   len - done);
	count_memory(self);
	update_events(self);
	return done;
}

static bool socket_drained(const struct end *end)
{
	return socket_of(end)->out.len == 0;
}

static void socket_finish(struct end *end)
{
	struct end_socket *self = socket_of(end);

	if (end->connected && !self->out.len)
		shutdown(self->source.fd, SHUT_WR);
}

static void socket_close(struct end *end, int code)
{
	struct end_socket *self = socket_of(end);
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };

	loop_del(&self->source);
	if (code)
		setsockopt(self->source.fd, SOL_SOCKET, SO_LINGER, &reset,
			   sizeof(reset));
	close(self->source.fd);
	ring_release(&self->in);
	ring_release(&self->out);
	count_memory(self);
	self->ends->count--;
	end->on_event = NULL;
	loop_defer_free(self->ends->loop, self);
}

static const struct end_ops socket_ops = {
	.fill = socket_fill,
	.peek = socket_peek,
	.take = socket_take,
	.readable = socket_readable,
	.read = socket_read,
	.space = socket_space,
	.write = socket_write,
	.drained = socket_drained,
	.finish = socket_finish,
	.close = socket_close,
};

static void settle(struct end_socket *self)
{
	const int on = 1;
	int code = pending_error(self);

	if (code) {
		fail(self, code);
		loop_del(&self->source);
		return;
	}
	self->end.connected = true;
	/* Of a Unix socket these fail, and nobody misses them. */
	setsockopt(self->source.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(self->source.fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
}

static void drain(struct end_socket *self)
{
	while (self->out.len) {
		ssize_t n = ring_drain_to(&self->out, self->source.fd);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			fail(self, errno);
		if (n <= 0)
			return;
	}
	ring_trim(&self->out);
	count_memory(self);
	if (self->end.finished)
		shutdown(self->source.fd, SHUT_WR);
}

static void on_socket(struct source *source, uint32_t events)
{
	struct end_socket *self =
		CONTAINER_OF(source, struct end_socket, source);

	self->was_read = false;
	if (!self->end.connected)
		settle(self);
	if (self->end.connected && (events & EPOLLOUT))
		drain(self);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		self->readable = !self->end.eof && !self->end.error;
	self->hung_up = events & (EPOLLHUP | EPOLLERR);
	if (self->end.eof && (events & EPOLLERR))
		fail(self, pending_error(self));
	if (self->end.on_event)
		self->end.on_event(&self->end);
	if (!source->loop)
		return;
	if ((self->readable || self->hung_up) && !self->was_read) {
		self->paused = true;
		if (self->hung_up) {
			loop_del(source);
			return;
		}
	}
	update_events(self);
}

static struct end_socket *socket_new(struct ends *ends, int fd,
				     const char *name)
{
	struct end_socket *self = xcalloc(1, sizeof(*self));

	*self = (struct end_socket){
		.end = { .ops = &socket_ops },
		.ends = ends,
		.source = { .name = name, .fd = fd, .on_event = on_socket },
	};
	ring_init(&self->in, LIMIT_SOCKET_BUFFER);
	ring_init(&self->out, LIMIT_SOCKET_BUFFER);
	ends->count++;
	return self;
}

static struct end *watch(struct end_socket *self, struct error *err)
{
	update_events(self);
	if (loop_add(self->ends->loop, &self->source, err) < 0) {
		socket_close(&self->end, 0);
		return NULL;
	}
	return &self->end;
}

struct end *end_socket_adopt(struct ends *ends, int fd, const char *name,
			     struct error *err)
{
	struct end_socket *self = socket_new(ends, fd, name);

	/* Whoever made it may have left it blocking. */
	if (fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK) < 0)
		fail(self, errno);
	settle(self);
	return watch(self, err);
}

static socklen_t sockaddr_of(const struct address *address, uint16_t port,
			     struct sockaddr_storage *out)
{
	struct sockaddr_in *v4 = (struct sockaddr_in *)out;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (address->family == ADDRESS_V4) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(port);
		memcpy(&v4->sin_addr, address->bytes, 4);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	v6->sin6_port = htons(port);
	memcpy(&v6->sin6_addr, address->bytes, 16);
	return sizeof(*v6);
}

struct end *end_socket_connect(struct ends *ends, const struct address *address,
			       uint16_t port, struct error *err)
{
	struct sockaddr_storage to;
	socklen_t len = sockaddr_of(address, port, &to);
	AUTO_CLOSE int fd = socket(
		to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int failed;

	if (fd < 0) {
		error_set(err, errno, "socket");
		return NULL;
	}
	failed = connect(fd, (struct sockaddr *)&to, len);
	if (failed < 0 && errno != EINPROGRESS) {
		error_set(err, errno, "connect");
		return NULL;
	}
	return watch(socket_new(ends, TAKE_FD(fd), "upstream"), err);
}
