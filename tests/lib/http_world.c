/* SPDX-License-Identifier: Apache-2.0 */
/*
 * http_world.c - requests through bawn-net's own code, the test at both ends
 */
#include "lib/http_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "net/config.h"
#include "net/connect.h"
#include "net/end.h"
#include "net/flow.h"
#include "net/http.h"

#define HEX32 "0123456789abcdef0123456789abcdef"
#define ROUNDS 6

struct gate world_gate;
bool world_server_http2;
int world_servers[WORLD_SERVERS];
int world_server_count;

static struct loop *loop;
static int port[2];

struct connecting {
	struct list link;
	connect_fn *fn;
	void *ctx;
};
static struct list pending = LIST_INIT(pending);

static const char start[] =
	"{\"sandbox\":\"box\",\"marker\":null,\"next_marker\":\"" HEX32 HEX32
	"\",\"policy\":[{\"scope\":\"sandbox\",\"name\":\"f\",\"text\":\"%s\"}]"
	","
	"\"preset\":\"x\",\"ask_ms\":1000,"
	"\"resolver\":{\"servers\":[],\"hosts\":[]},\"proxy\":{},"
	"\"addresses\":[],\"published\":[],\"sockets\":[]}";

struct connecting *__wrap_connect_start(struct gate *gate,
					const struct target *target,
					const struct decision *decision,
					enum connect_use use, connect_fn *fn,
					void *ctx);
void __wrap_connect_cancel(struct connecting *connecting);
bool __wrap_connect_is_by_proxy(const struct connecting *connecting);

struct connecting *__wrap_connect_start(struct gate *gate,
					const struct target *target,
					const struct decision *decision,
					enum connect_use use, connect_fn *fn,
					void *ctx)
{
	struct connecting *self = xcalloc(1, sizeof(*self));

	self->fn = fn;
	self->ctx = ctx;
	list_append(&pending, &self->link);
	return self;
}

void __wrap_connect_cancel(struct connecting *connecting)
{
	if (!connecting)
		return;
	list_remove(&connecting->link);
	free(connecting);
}

bool __wrap_connect_is_by_proxy(const struct connecting *connecting)
{
	return false;
}

static struct end *make_end(bool http2, int *other)
{
	struct end *end;
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
		       pair) < 0)
		abort();
	end = end_socket_adopt(&world_gate.ends, pair[0], "test", NULL);
	if (!end)
		abort();
	end->http2 = http2;
	*other = pair[1];
	return end;
}

static void connect_pending(void)
{
	while (!list_empty(&pending)) {
		struct connecting *self =
			LIST_ENTRY(pending.next, struct connecting, link);
		struct connected result = { .code = ECONNREFUSED,
					    .reason = "no more in this test" };
		connect_fn *fn = self->fn;
		void *ctx = self->ctx;

		list_remove(&self->link);
		free(self);
		if (world_server_count < WORLD_SERVERS)
			result.end =
				make_end(world_server_http2,
					 &world_servers[world_server_count++]);
		fn(ctx, &result);
	}
}

static struct config *parse(const char *rules, enum config_kind kind)
{
	char text[4096];
	struct error err = { 0 };
	struct config *config;

	if (text_format(text, sizeof(text), start, rules) < 0)
		abort();
	config = config_parse(text, strlen(text), kind, &err);
	if (!config)
		abort();
	return config;
}

void world_open(const char *rules)
{
	struct gate_fds fds = {
		.control = -1,
		.names = -1,
		.log = -1,
		.keys = -1,
		.slots = -1,
	};
	struct error err = { 0 };

	log_level_set(LOG_LEVEL_ERROR);
	log_to(-1);
	loop = loop_new(&err);
	world_server_count = 0;
	if (!loop || socketpair(AF_UNIX, SOCK_STREAM, 0, port) < 0)
		abort();
	fds.port = port[0];
	if (gate_init(&world_gate, loop, parse(rules, CONFIG_START), &fds,
		      &err) < 0 ||
	    gate_start(&world_gate, &err) < 0)
		abort();
}

bool world_close(void)
{
	bool clean;

	gate_release(&world_gate);
	for (int i = 0; i < world_server_count; i++)
		close(world_servers[i]);
	clean = !world_gate.ends.buffered && !world_gate.ends.count &&
		list_empty(&pending);
	loop_free(loop);
	close(port[0]);
	close(port[1]);
	return clean;
}

int world_connect(bool http2)
{
	int fd;
	struct end *end = make_end(http2, &fd);
	struct flow *flow = flow_new(&world_gate, FLOW_OUT, end);

	flow->target =
		(struct target){ .name = xstrdup("api.example"), .port = 80 };
	flow->protocol = AUDIT_HTTP;
	flow->state = FLOW_HTTP;
	flow->http = http_new(flow, HTTP_ORIGIN);
	http_on_client(flow->http);
	return fd;
}

void world_step(void)
{
	for (int i = 0; i < ROUNDS; i++) {
		connect_pending();
		if (loop_step(loop, 0, NULL) < 0)
			abort();
	}
}

void world_change(const char *rules)
{
	if (world_gate.config != world_gate.start)
		config_free(world_gate.config);
	world_gate.config = parse(rules, CONFIG_START);
	LIST_FOR_EACH(node, &world_gate.flows)
		flow_recheck(LIST_ENTRY(node, struct flow, link));
}

int world_flows(void)
{
	int count = 0;

	LIST_FOR_EACH(node, &world_gate.flows)
		count++;
	return count;
}

void world_deadline(void)
{
	LIST_FOR_EACH(node, &world_gate.flows) {
		struct flow *flow = LIST_ENTRY(node, struct flow, link);

		flow->deadline.on_due(&flow->deadline);
	}
}
