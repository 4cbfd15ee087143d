/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.c - frames to and from the guest, over the port
 */
#include "net/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "net/limit.h"

#define IN_BYTES (256u * 1024)
/* Small frames are collected; a large one leaves from where it lies. */
#define OUT_BYTES (32u * 1024)
#define LARGE_BYTES (8u * 1024)
#define WRITES_PER_ROUND 32

static void give_up(struct port *port, const char *why)
{
	if (port->ended)
		return;
	port->ended = true;
	loop_del(&port->source);
	port->ops->on_end(port->ctx, why);
}

static void on_message(void *ctx, const uint8_t *payload, size_t len)
{
	struct port *port = ctx;
	struct net_message message;

	if (port->ended)
		return;
	if (net_message_decode(payload, len, &message) < 0)
		give_up(port, "not a message");
	else if (port->ops->on_message(port->ctx, &message) < 0)
		give_up(port, "a message that makes no sense");
}

static void on_stream(void *ctx, struct mux_stream *stream)
{
	struct port *port = ctx;

	port->ops->on_stream(port->ctx, stream);
}

static void on_marker(void *ctx)
{
	struct port *port = ctx;

	port->ops->on_marker(port->ctx);
}

static const struct mux_ops mux_ops = { .on_message = on_message,
					.on_stream = on_stream,
					.on_marker = on_marker };

static void wait_for_more(struct port *port, bool more)
{
	bool full = mux_backlog(&port->mux) > LIMIT_BACKLOG;

	loop_wait_for(&port->source,
		      (full ? 0U : EPOLLIN) | (more ? EPOLLOUT : 0U));
}

/* What a write returned; -1: the reader is not there now. */
static ssize_t check_write(struct port *port, ssize_t n)
{
	if (n < 0 && errno == EINTR)
		return 0;
	if (n < 0 && errno != EAGAIN)
		give_up(port, NULL);
	return n;
}

static bool write_collected(struct port *port)
{
	ssize_t n = check_write(port, write(port->source.fd,
					    port->out + port->out_start,
					    port->out_len));

	if (n < 0)
		return false;
	port->out_start += (size_t)n;
	port->out_len -= (size_t)n;
	return true;
}

static bool write_frame(struct port *port, const struct iovec *iov, int count)
{
	ssize_t n = check_write(port, writev(port->source.fd, iov, count));

	if (n < 0)
		return false;
	mux_sent(&port->mux, (size_t)n);
	return true;
}

static size_t length_of(const struct iovec *iov, int count)
{
	size_t len = 0;

	for (int i = 0; i < count; i++)
		len += iov[i].iov_len;
	return len;
}

void port_flush(struct port *port)
{
	bool good = true, more = true;

	for (int i = 0; i < WRITES_PER_ROUND && good && more; i++) {
		struct iovec iov[3];
		int count;

		if (port->ended)
			return;
		if (port->out_len) {
			good = write_collected(port);
			continue;
		}
		count = mux_output(&port->mux, iov);
		more = count > 0;
		if (length_of(iov, count) >= LARGE_BYTES) {
			good = write_frame(port, iov, count);
		} else if (more) {
			port->out_start = 0;
			port->out_len = mux_output_copy(&port->mux, port->out,
							OUT_BYTES);
		}
	}
	if (!port->ended)
		wait_for_more(port, more || port->out_len);
}

static void on_event(struct source *source, uint32_t events)
{
	struct port *port = CONTAINER_OF(source, struct port, source);
	struct error err = { 0 };
	ssize_t n;

	/* What can be written is written at the end of the round. */
	if (!(events & (EPOLLIN | EPOLLHUP | EPOLLERR)))
		return;
	n = read(source->fd, port->in, IN_BYTES);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		give_up(port, NULL);
		return;
	}
	if (mux_input(&port->mux, port->in, (size_t)n, &err) < 0)
		give_up(port, err.text);
}

void port_init(struct port *port, int fd, const struct port_ops *ops, void *ctx)
{
	struct mux_limits limits = mux_net_limits;

	*port = (struct port){ .ops = ops, .ctx = ctx };
	port->source = (struct source){ .name = "net port",
					.fd = fd,
					.events = EPOLLIN,
					.on_event = on_event };
	arc4random_buf(&limits.hash_seed, sizeof(limits.hash_seed));
	mux_init(&port->mux, &limits, &mux_ops, port);
	port->in = xmalloc(IN_BYTES);
	port->out = xmalloc(OUT_BYTES);
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void port_release(struct port *port)
{
	loop_del(&port->source);
	mux_release(&port->mux);
	free(port->in);
	free(port->out);
	if (port->slots)
		munmap(port->slots, SLOTS_BYTES);
}

int port_map_slots(struct port *port, int fd, struct error *err)
{
	void *memory;

	if (fd < 0)
		return 0;
	memory = mmap(NULL, SLOTS_BYTES, PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return error_set(err, errno, "slots");
	port->slots = memory;
	return 0;
}

void port_use_slots(struct port *port, bool read)
{
	mux_write_slots(&port->mux, read ? port->slots : NULL);
}

void port_expect_marker(struct port *port,
			const uint8_t marker[MUX_MARKER_BYTES])
{
	mux_expect_marker(&port->mux, marker);
	mux_send_marker(&port->mux, marker);
}

int port_start(struct port *port, struct loop *loop, struct error *err)
{
	if (loop_add(loop, &port->source, err) < 0)
		return error_prefix(err, "net port");
	return 0;
}

void port_send(struct port *port, const struct net_message *message)
{
	uint8_t bytes[NET_MESSAGE_MAX];
	long len = net_message_encode(message, bytes, sizeof(bytes));

	if (len < 0 || mux_send_message(&port->mux, bytes, (size_t)len) < 0)
		give_up(port, "the guest does not read");
}
