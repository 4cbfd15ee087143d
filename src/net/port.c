/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.c - frames to and from the guest, over the port
 */
#include "net/port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "net/limit.h"

#define IN_BYTES (256u * 1024)
#define OUT_BYTES (256u * 1024)
#define WRITES_PER_ROUND 4

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

static void wait_for_more(struct port *port)
{
	bool full = mux_backlog(&port->mux) > LIMIT_BACKLOG;

	loop_wait_for(&port->source,
		      (full ? 0U : EPOLLIN) | (port->out_len ? EPOLLOUT : 0U));
}

/* False: the rest of the buffer waits for the reader. */
static bool write_out(struct port *port)
{
	while (port->out_len) {
		ssize_t n = write(port->source.fd, port->out + port->out_start,
				  port->out_len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return false;
		if (n < 0) {
			give_up(port, NULL);
			return false;
		}
		port->out_start += (size_t)n;
		port->out_len -= (size_t)n;
	}
	port->out_start = 0;
	return true;
}

void port_flush(struct port *port)
{
	for (int i = 0; i < WRITES_PER_ROUND && !port->ended; i++) {
		if (!write_out(port))
			break;
		port->out_len =
			mux_output_copy(&port->mux, port->out, OUT_BYTES);
		if (!port->out_len)
			break;
	}
	if (!port->ended)
		wait_for_more(port);
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
