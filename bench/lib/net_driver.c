/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_driver.c - loads bawn-net through its port, or a proxy through TCP
 *
 * usage: net_driver origin ADDRESS PORT
 *        net_driver port LOAD NAME PORT            (the port is descriptor 3)
 *        net_driver proxy ADDRESS PORT LOAD NAME PORT
 * LOAD:  tunnels COUNT PARALLEL | bulk BYTES | idle COUNT
 *
 * A tunnel is open when the origin's first byte has come back after a
 * ClientHello. The origin sends as many bytes as the last 8 of the hello say.
 * Prints seconds and how many (tunnels, bytes); `idle` prints, then waits for
 * the end of its input.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "guest_port.h"
#include "net_hello.h"

enum load_kind {
	LOAD_TUNNELS,
	LOAD_BULK,
	LOAD_IDLE,
};

static struct {
	enum load_kind kind;
	uint64_t count; /* tunnels, or bytes of one */
	unsigned parallel;
	const char *name;
	uint16_t port;
	uint8_t hello[NET_HELLO_MAX];
	size_t hello_len;

	uint64_t begun, done, bytes;
	struct timespec start;
	struct loop *loop;
} load;

static void die(const char *what)
{
	fprintf(stderr, "net_driver: %s: %s\n", what, strerror(errno));
	exit(1);
}

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - load.start.tv_sec) +
	       (double)(now.tv_nsec - load.start.tv_nsec) / 1e9;
}

static void finish(void)
{
	printf("%.6f %" PRIu64 "\n", seconds(),
	       load.kind == LOAD_BULK ? load.bytes : load.done);
	fflush(stdout);
	if (load.kind != LOAD_IDLE)
		loop_stop(load.loop);
}

/* Of one connection; true: it is over and another may begin. */
static bool count(size_t len, bool first)
{
	load.bytes += len;
	if (load.kind == LOAD_BULK) {
		if (load.bytes < load.count)
			return false;
		finish();
		return true;
	}
	if (!first)
		return false;
	load.done++;
	if (load.done == load.count)
		finish();
	return load.kind == LOAD_TUNNELS;
}

static bool may_begin(void)
{
	if (load.kind == LOAD_BULK)
		return load.begun == 0;
	return load.begun < load.count;
}

/* --- through the port --- */

struct tunnel {
	bool answered;
};

static void port_begin(void)
{
	struct tunnel *tunnel = xcalloc(1, sizeof(*tunnel));

	mux_stream_write(guest_port_open(load.port, tunnel), load.hello,
			 load.hello_len);
	load.begun++;
}

static void port_end(struct mux_stream *stream)
{
	free(stream->owner);
	mux_stream_close(stream, ECONNRESET);
	if (load.kind == LOAD_TUNNELS && may_begin())
		port_begin();
}

static size_t port_on_data(void *ctx, struct mux_stream *stream,
			   const uint8_t *bytes, size_t len)
{
	struct tunnel *tunnel = stream->owner;
	bool first = !tunnel->answered;

	tunnel->answered = true;
	if (count(len, first))
		port_end(stream);
	else if (load.kind == LOAD_IDLE && may_begin())
		port_begin();
	return len;
}

static void port_on_stream(void *ctx, struct mux_stream *stream)
{
	if (!stream->closed)
		return;
	fprintf(stderr, "net_driver: refused: %u\n", stream->close_code);
	exit(1);
}

static void port_on_address(void)
{
	clock_gettime(CLOCK_MONOTONIC, &load.start);
	for (unsigned i = 0; i < load.parallel && may_begin(); i++)
		port_begin();
}

static const struct guest_port_ops port_ops = { .on_address = port_on_address,
						.on_stream = port_on_stream,
						.on_data = port_on_data };

/* --- through a proxy --- */

static struct sockaddr_in proxy;

struct client {
	struct source source;
	enum { CONNECTING, ASKED, OPEN, ANSWERED } state;
	char head[1024];
	size_t head_len;
};

static void client_begin(void);

static void client_end(struct client *client)
{
	const struct linger reset = { .l_onoff = 1 };

	loop_del(&client->source);
	setsockopt(client->source.fd, SOL_SOCKET, SO_LINGER, &reset,
		   sizeof(reset));
	close(client->source.fd);
	loop_defer_free(load.loop, client);
	if (load.kind == LOAD_TUNNELS && may_begin())
		client_begin();
}

static void client_ask(struct client *client)
{
	char text[512];

	(void)text_format(text, sizeof(text),
			  "CONNECT %s:%u HTTP/1.1\r\nHost: %s:%u\r\n\r\n",
			  load.name, load.port, load.name, load.port);
	if (send(client->source.fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		die("proxy");
	client->state = ASKED;
	loop_wait_for(&client->source, EPOLLIN);
}

static void client_hear(struct client *client)
{
	ssize_t n = recv(client->source.fd, client->head + client->head_len,
			 sizeof(client->head) - client->head_len - 1, 0);

	if (n <= 0)
		die("the proxy closed");
	client->head_len += (size_t)n;
	client->head[client->head_len] = '\0';
	if (!strstr(client->head, "\r\n\r\n"))
		return;
	if (!strstr(client->head, " 200 ")) {
		fprintf(stderr, "%s\n", client->head);
		exit(1);
	}
	if (send(client->source.fd, load.hello, load.hello_len, MSG_NOSIGNAL) <
	    0)
		die("proxy");
	client->state = OPEN;
}

static void client_on_event(struct source *source, uint32_t events)
{
	static uint8_t bytes[1 << 18];
	struct client *client = CONTAINER_OF(source, struct client, source);
	bool first;
	ssize_t n;

	if (client->state == CONNECTING) {
		client_ask(client);
		return;
	}
	if (client->state == ASKED) {
		client_hear(client);
		return;
	}
	n = recv(source->fd, bytes, sizeof(bytes), 0);
	if (n <= 0)
		die("the tunnel closed");
	first = client->state == OPEN;
	client->state = ANSWERED;
	if (count((size_t)n, first))
		client_end(client);
	else if (load.kind == LOAD_IDLE && may_begin())
		client_begin();
}

static void client_begin(void)
{
	struct client *client = xcalloc(1, sizeof(*client));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const int on = 1;

	if (fd < 0 ||
	    (connect(fd, (struct sockaddr *)&proxy, sizeof(proxy)) < 0 &&
	     errno != EINPROGRESS))
		die("proxy");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	client->source = (struct source){ .name = "proxy",
					  .fd = fd,
					  .events = EPOLLOUT,
					  .on_event = client_on_event };
	loop_add(load.loop, &client->source, NULL);
	load.begun++;
}

static void run_proxy(void)
{
	clock_gettime(CLOCK_MONOTONIC, &load.start);
	for (unsigned i = 0; i < load.parallel && may_begin(); i++)
		client_begin();
	loop_run(load.loop, NULL);
}

/* --- the origin --- */

struct visitor {
	struct source source;
	uint64_t left;
	size_t heard;
};

static void visitor_on_event(struct source *source, uint32_t events)
{
	static uint8_t bytes[1 << 18];
	struct visitor *visitor = CONTAINER_OF(source, struct visitor, source);

	if (events & EPOLLIN) {
		ssize_t n = recv(source->fd, bytes, sizeof(bytes), 0);

		if (n <= 0) {
			loop_del(source);
			close(source->fd);
			loop_defer_free(load.loop, visitor);
			return;
		}
		visitor->heard += (size_t)n;
		if (visitor->heard == load.hello_len)
			memcpy(&visitor->left, bytes + n - 8, 8);
	}
	while (visitor->left) {
		size_t len = visitor->left < sizeof(bytes) ? visitor->left
							   : sizeof(bytes);
		ssize_t n = send(source->fd, bytes, len,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n <= 0)
			break;
		visitor->left -= (size_t)n;
	}
	loop_wait_for(source, EPOLLIN | (visitor->left ? EPOLLOUT : 0U));
}

static void on_accept(struct source *source, uint32_t events)
{
	int fd;
	const int on = 1;

	while ((fd = accept4(source->fd, NULL, NULL,
			     SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
		struct visitor *visitor = xcalloc(1, sizeof(*visitor));

		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		visitor->source = (struct source){
			.name = "visitor",
			.fd = fd,
			.events = EPOLLIN,
			.on_event = visitor_on_event,
		};
		loop_add(load.loop, &visitor->source, NULL);
	}
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

static void run_origin(char **argv)
{
	struct sockaddr_in at = address_of(argv[2], argv[3]);
	struct source source = { .name = "listener",
				 .events = EPOLLIN,
				 .on_event = on_accept };
	const int on = 1;

	source.fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	setsockopt(source.fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(source.fd, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(source.fd, 4096) < 0)
		die("origin");
	loop_add(load.loop, &source, NULL);
	printf("ready\n");
	fflush(stdout);
	loop_run(load.loop, NULL);
}

static void on_input_end(struct source *source, uint32_t events)
{
	loop_stop(source->loop);
}

/* LOAD NAME PORT */
static void parse_load(char **words)
{
	static const char *const kinds[] = { "tunnels", "bulk", "idle" };
	uint64_t number = 0;

	for (unsigned i = 0; i < 3; i++) {
		if (strcmp(words[0], kinds[i]) == 0)
			load.kind = i;
	}
	if (text_to_u64(words[1], 1, UINT64_MAX, &load.count) < 0)
		die("count");
	load.parallel = load.kind == LOAD_IDLE ? 200 : 1;
	words += 2;
	if (load.kind == LOAD_TUNNELS) {
		if (text_to_u64(words[0], 1, 10000, &number) < 0)
			die("parallel");
		load.parallel = (unsigned)number;
		words++;
	}
	load.name = words[0];
	if (text_to_u64(words[1], 1, 65535, &number) < 0)
		die("port");
	load.port = (uint16_t)number;
	load.hello_len = net_hello_make(
		load.name, load.kind == LOAD_BULK ? load.count : 1, load.hello);
}

int main(int argc, char **argv)
{
	struct source input = { .name = "input",
				.fd = 0,
				.events = EPOLLIN,
				.on_event = on_input_end };
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
	load.loop = loop_new(NULL);
	if (argc < 4)
		return 2;
	if (strcmp(argv[1], "origin") == 0) {
		load.hello_len = NET_HELLO_MAX;
		run_origin(argv);
	} else if (strcmp(argv[1], "port") == 0) {
		parse_load(argv + 2);
		if (load.kind == LOAD_IDLE)
			loop_add(load.loop, &input, NULL);
		guest_port_run(load.loop, load.name, &port_ops);
	} else {
		proxy = address_of(argv[2], argv[3]);
		parse_load(argv + 4);
		if (load.kind == LOAD_IDLE)
			loop_add(load.loop, &input, NULL);
		run_proxy();
	}
	return 0;
}
