/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_alone.c - what bawn-net does with requests, between two real peers
 *
 * usage: http_alone CLIENT SERVER PORT [RULES]
 * CLIENT and SERVER are the versions of HTTP that each side speaks from its
 * first byte on, 1 or 2: in bawn-net two sides of TLS agree on that, here there
 * is no TLS. Listens on 127.0.0.1, prints the port, and sends what comes there
 * to PORT of the loopback. Descriptor 7, if it is there, is the log. Ends with
 * SIGTERM, and with 1 when something was not given back.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "net/config.h"
#include "net/end.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/http.h"

#define HEX32 "0123456789abcdef0123456789abcdef"
#define LOG_FD 7

static struct gate gate;
static bool client_http2, server_http2;
static uint16_t server_port;

static const char settings[] =
	"{\"sandbox\":\"box\",\"marker\":null,\"next_marker\":\"" HEX32 HEX32
	"\",\"policy\":[{\"scope\":\"sandbox\",\"name\":\"f\",\"text\":\"%s\"}]"
	","
	"\"preset\":\"x\",\"ask_ms\":1000,"
	"\"resolver\":{\"servers\":[],\"hosts\":[]},\"proxy\":{},"
	"\"addresses\":[],\"published\":[],\"sockets\":[]}";

/* The linker puts this one before the real one. */
struct end *__real_end_socket_connect(struct ends *ends,
				      const struct address *address,
				      uint16_t port, struct error *err);
struct end *__wrap_end_socket_connect(struct ends *ends,
				      const struct address *address,
				      uint16_t port, struct error *err);

struct end *__wrap_end_socket_connect(struct ends *ends,
				      const struct address *address,
				      uint16_t port, struct error *err)
{
	struct end *end = __real_end_socket_connect(ends, address, port, err);

	if (end)
		end->http2 = server_http2;
	return end;
}

static void on_listener(struct source *source, uint32_t events)
{
	int fd = accept4(source->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct end *end;
	struct flow *flow;

	if (fd < 0)
		return;
	end = end_socket_adopt(&gate.ends, fd, "client", NULL);
	if (!end)
		return;
	end->http2 = client_http2;
	flow = flow_new(&gate, FLOW_OUT, end);
	flow->target = (struct target){ .name = xstrdup(TARGET_HOST_NAME),
					.port = server_port,
					.is_host = true };
	flow->protocol = AUDIT_HTTP;
	flow->state = FLOW_HTTP;
	flow->http = http_new(flow, HTTP_ORIGIN);
	http_on_client(flow->http);
}

static int listen_here(struct source *source)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t len = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, len) < 0 ||
	    listen(fd, 128) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return -1;
	*source = (struct source){ .name = "listener",
				   .fd = fd,
				   .events = EPOLLIN,
				   .on_event = on_listener };
	printf("%u\n", ntohs(address.sin_port));
	fflush(stdout);
	return 0;
}

static void on_signal(void *ctx, const struct signalfd_siginfo *info)
{
	gate_stop(&gate, NULL);
}

static struct config *make_config(const char *rules)
{
	char text[4096];
	struct error err = { 0 };

	if (text_format(text, sizeof(text), settings, rules) < 0)
		return NULL;
	return config_parse(text, strlen(text), CONFIG_START, &err);
}

static int serve(struct loop *loop, const char *rules)
{
	struct config *config = make_config(rules);
	struct gate_fds fds = {
		.control = -1,
		.names = -1,
		.log = -1,
		.keys = -1,
		.slots = -1,
	};
	struct source listener;
	struct error err = { 0 };
	int pair[2];
	sigset_t set;

	if (fcntl(LOG_FD, F_GETFD) >= 0)
		fds.log = LOG_FD;
	if (!config || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		return -1;
	fds.port = pair[0];
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	if (gate_init(&gate, loop, config, &fds, &err) < 0 ||
	    loop_signals(loop, &set, on_signal, NULL, &err) < 0 ||
	    gate_start(&gate, &err) < 0 || listen_here(&listener) < 0 ||
	    loop_add(loop, &listener, &err) < 0 || loop_run(loop, &err) < 0) {
		fprintf(stderr, "http_alone: %s\n", err.text);
		return -1;
	}
	loop_del(&listener);
	close(listener.fd);
	gate_release(&gate);
	close(pair[0]);
	close(pair[1]);
	return gate.ends.buffered || gate.ends.count || gate.half_open ? -1 : 0;
}

int main(int argc, char **argv)
{
	struct error err = { 0 };
	struct loop *loop = loop_new(&err);
	char rules[64];
	int result;

	if (argc < 4 || argc > 5 || !loop)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	log_identity("http_alone", NULL);
	client_http2 = argv[1][0] == '2';
	server_http2 = argv[2][0] == '2';
	server_port = (uint16_t)strtoul(argv[3], NULL, 10);
	(void)text_format(rules, sizeof(rules), "allow localhost:%u",
			  server_port);
	result = serve(loop, argc > 4 ? argv[4] : rules);
	loop_free(loop);
	return result < 0;
}
