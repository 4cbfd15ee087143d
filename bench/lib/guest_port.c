/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_port.c - the guest's end of the network port, for what loads bawn-net
 */
#include "guest_port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "net_hello.h"
#include "proto/net_messages.h"

#define PORT_FD 3

static struct {
	const struct guest_port_ops *ops;
	const char *name;
	struct source source;
	struct mux mux;
	uint8_t address[4];
	uint32_t next; /* stream */
	uint8_t in[1 << 18], out[1 << 18];
	size_t out_start, out_len;
} port = { .next = 1 };

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "port: %s\n", what);
	exit(1);
}

static void send_message(const struct net_message *message)
{
	uint8_t bytes[512];
	long len = net_message_encode(message, bytes, sizeof(bytes));

	if (len < 0 || mux_send_message(&port.mux, bytes, (size_t)len) < 0)
		die("a message that does not fit");
}

struct mux_stream *guest_port_open(uint16_t to, void *owner)
{
	struct net_message open = {
		.type = NET_OPEN,
		.open = { .stream = port.next, .family = 4, .port = to }
	};
	struct mux_stream *stream =
		mux_stream_open(&port.mux, port.next, owner);

	if (!stream)
		die("too many streams");
	memcpy(open.open.address, port.address, sizeof(port.address));
	send_message(&open);
	port.next += 2;
	return stream;
}

static void ask(void)
{
	uint8_t query[300];
	struct net_message message = { .type = NET_DNS_QUERY,
				       .dns = { .query = 1,
						.len = (uint16_t)net_hello_dns(
							port.name, query),
						.bytes = query } };

	send_message(&message);
}

static void on_message(void *ctx, const uint8_t *payload, size_t len)
{
	struct net_message message;

	if (net_message_decode(payload, len, &message) < 0)
		die("not a message");
	if (message.type == NET_WELCOME)
		ask();
	if (message.type != NET_DNS_ANSWER)
		return;
	memcpy(port.address, message.dns.bytes + message.dns.len - 4, 4);
	port.ops->on_address();
}

static void on_marker(void *ctx)
{
}

static void flush(void *ctx)
{
	for (;;) {
		ssize_t n;

		if (!port.out_len) {
			port.out_start = 0;
			port.out_len = mux_output_copy(&port.mux, port.out,
						       sizeof(port.out));
		}
		if (!port.out_len)
			break;
		n = write(PORT_FD, port.out + port.out_start, port.out_len);
		if (n < 0)
			break;
		port.out_start += (size_t)n;
		port.out_len -= (size_t)n;
	}
	loop_wait_for(&port.source, EPOLLIN | (port.out_len ? EPOLLOUT : 0U));
}

static void on_event(struct source *source, uint32_t events)
{
	struct error err = { 0 };
	ssize_t n = read(PORT_FD, port.in, sizeof(port.in));

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		exit(0); /* who waits for a result misses it */
	if (mux_input(&port.mux, port.in, (size_t)n, &err) < 0)
		die(err.text);
}

void guest_port_run(struct loop *loop, const char *name,
		    const struct guest_port_ops *ops)
{
	const struct net_message hello = {
		.type = NET_HELLO, .hello = { .version = NET_VERSION }
	};
	const struct mux_ops mux_ops = { .on_message = on_message,
					 .on_stream = ops->on_stream,
					 .on_marker = on_marker,
					 .on_data = ops->on_data };

	port.ops = ops;
	port.name = name;
	mux_init(&port.mux, &mux_net_limits, &mux_ops, NULL);
	send_message(&hello);
	fcntl(PORT_FD, F_SETFL, O_RDWR | O_NONBLOCK);
	port.source = (struct source){ .name = "port",
				       .fd = PORT_FD,
				       .events = EPOLLIN,
				       .on_event = on_event };
	loop_before_wait(loop, flush, NULL);
	loop_add(loop, &port.source, NULL);
	loop_run(loop, NULL);
}
