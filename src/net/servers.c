/* SPDX-License-Identifier: Apache-2.0 */
/*
 * servers.c - the connections to servers behind one connection of a client
 */
#include "net/servers.h"

#include <errno.h>
#include <stdlib.h>

#include "base/loop.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"
#include "net/config.h"
#include "net/connect.h"
#include "net/end.h"
#include "net/exchange.h"
#include "net/flow.h"
#include "net/gate.h"
#include "net/h2_server.h"
#include "net/http.h"
#include "net/http_reply.h"

void servers_init(struct servers *servers, struct http *http)
{
	*servers = (struct servers){ .http = http };
	list_init(&servers->links);
	list_init(&servers->waiting);
}

static struct server_link *link_of(struct list *node)
{
	return LIST_ENTRY(node, struct server_link, link);
}

static struct server_link *new_link(struct servers *self)
{
	struct server_link *link = xcalloc(1, sizeof(*link));

	link->servers = self;
	http1_server_init(&link->http1, self->http);
	list_append(&self->links, &link->link);
	self->count++;
	return link;
}

static void free_link(struct server_link *link)
{
	struct servers *self = link->servers;

	connect_cancel(TAKE_PTR(link->connecting));
	http1_server_close(&link->http1);
	h2_server_free(TAKE_PTR(link->h2));
	list_remove(&link->link);
	self->count--;
	loop_defer_free(self->http->flow->gate->loop, link);
}

static void close_all(struct servers *self)
{
	LIST_FOR_EACH(node, &self->links)
		free_link(link_of(node));
	target_release(&self->target);
	self->only_http1 = false;
}

void servers_release(struct servers *servers)
{
	close_all(servers);
}

static struct exchange *first_waiting(const struct servers *self)
{
	return list_empty(&self->waiting)
		       ? NULL
		       : LIST_ENTRY(self->waiting.next, struct exchange,
				    waiting);
}

static void refuse_first(struct servers *self, const struct connected *result)
{
	struct exchange *exchange = first_waiting(self);
	char text[HTTP_REPLY_TEXT_MAX], host[AUTHORITY_TEXT_SIZE];

	target_format(&exchange->target, host);
	(void)text_format(text, sizeof(text), "cannot reach %s: %s", host,
			  result->reason);
	exchange_refuse(exchange,
			&(struct exchange_refusal){
				result->denied              ? 403
				: result->code == ETIMEDOUT ? 504
							    : 502,
				result->denied ? AUDIT_DENY : AUDIT_ALLOW,
				result->reason, text });
}

/* Nobody is left waiting for what will not come. */
static void failed(struct servers *self, const struct connected *result)
{
	do {
		if (first_waiting(self))
			refuse_first(self, result);
	} while (!self->http->over && !self->count && first_waiting(self));
}

static void on_server(struct end *end)
{
	struct server_link *link = end->owner;

	http_run(link->servers->http);
}

static void use_end(struct server_link *link, const struct connected *result)
{
	struct end *end = result->end;

	end->owner = link;
	end->on_event = on_server;
	link->address = result->address;
	link->servers->only_http1 = !end->http2;
	if (end->http2) {
		link->h2 = h2_server_new(link->servers->http, end);
		link->h2->address = result->address;
		link->h2->by_proxy = result->by_proxy;
		free(result->login);
		return;
	}
	link->http1.base.address = result->address;
	link->http1.base.by_proxy = result->by_proxy;
	http1_server_use(&link->http1, end, result->absolute, result->login);
}

void servers_adopt(struct servers *servers, const struct target *target,
		   struct end *end, const struct address *address)
{
	target_copy(target, &servers->target);
	use_end(new_link(servers),
		&(struct connected){ .end = end, .address = *address });
}

static void on_connected(void *ctx, const struct connected *result)
{
	struct server_link *link = ctx;
	struct servers *self = link->servers;

	link->connecting = NULL;
	if (result->end) {
		use_end(link, result);
	} else {
		free_link(link);
		failed(self, result);
	}
	http_run(self->http);
}

/* Between a client's HTTP/1 and a server's something would get lost. */
static enum connect_use use_of(const struct servers *self)
{
	if (self->http->flow->protocol != AUDIT_HTTPS)
		return CONNECT_HTTP;
	return self->http->h2 ? CONNECT_HTTPS : CONNECT_HTTPS_1;
}

/* False: that was refused, or the connection of the client is gone. */
static bool start_link(struct servers *self)
{
	struct exchange *exchange = first_waiting(self);
	struct server_link *link = new_link(self);

	link->connecting = connect_start(self->http->flow->gate, &self->target,
					 &exchange->decision, use_of(self),
					 on_connected, link);
	if (link->connecting)
		return true;
	free_link(link);
	exchange_refuse(exchange,
			&(struct exchange_refusal){
				503, AUDIT_DENY,
				"too many connections are being made", NULL });
	return false;
}

static unsigned count_making(const struct servers *self)
{
	unsigned count = 0;

	LIST_FOR_EACH(node, &self->links)
		count += link_of(node)->connecting != NULL;
	return count;
}

static unsigned count_waiting(const struct servers *self)
{
	unsigned count = 0;

	LIST_FOR_EACH(node, &self->waiting)
		count++;
	return count;
}

static bool has_h2(const struct servers *self)
{
	LIST_FOR_EACH(node, &self->links) {
		const struct server_link *link = link_of(node);

		if (link->h2 && h2_server_is_good(link->h2))
			return true;
	}
	return false;
}

/* The first connection shows how many requests one can carry. */
static void start_links(struct servers *self)
{
	unsigned making = count_making(self), wanted = count_waiting(self);

	if (has_h2(self))
		return; /* there will be room on it */
	while (making < wanted && self->count < LIMIT_SERVERS &&
	       (self->only_http1 || !making) && start_link(self))
		making++;
}

static struct http_server *find_free(struct servers *self)
{
	LIST_FOR_EACH(node, &self->links) {
		struct server_link *link = link_of(node);
		struct http_server *stream =
			link->h2 ? h2_server_open(link->h2) : NULL;

		if (stream)
			return stream;
		if (http1_server_is_idle(&link->http1))
			return &link->http1.base;
	}
	return NULL;
}

static void refuse_upgrade(struct exchange *exchange)
{
	exchange_refuse(exchange,
			&(struct exchange_refusal){
				501, AUDIT_DENY,
				"no upgrade on a server's HTTP/2", NULL });
}

static void assign(struct servers *self)
{
	while (!self->http->over && first_waiting(self)) {
		struct exchange *exchange = first_waiting(self);
		struct http_server *server;

		if (exchange->upgrade && has_h2(self)) {
			refuse_upgrade(exchange);
			continue;
		}
		server = find_free(self);
		if (!server)
			break;
		list_remove(&exchange->waiting);
		exchange_send(exchange, server);
	}
	if (!self->http->over && first_waiting(self))
		start_links(self);
}

static bool is_by_proxy(const struct server_link *link)
{
	if (link->connecting)
		return connect_is_by_proxy(link->connecting);
	return link->h2 ? link->h2->by_proxy : link->http1.base.by_proxy;
}

bool servers_by_proxy(const struct servers *servers)
{
	LIST_FOR_EACH(node, &servers->links)
		if (is_by_proxy(link_of(node)))
			return true;
	return false;
}

void servers_find(struct servers *servers, struct exchange *exchange)
{
	if (!target_same(&servers->target, &exchange->target)) {
		close_all(servers);
		target_copy(&exchange->target, &servers->target);
	}
	if (servers_by_proxy(servers) &&
	    !decision_passes_proxy(&exchange->decision, &exchange->target)) {
		exchange_refuse(exchange, &(struct exchange_refusal){
						  403, AUDIT_DENY,
						  CONNECT_NOT_BY_PROXY, NULL });
		return;
	}
	list_append(&servers->waiting, &exchange->waiting);
	assign(servers);
}

static bool is_gone(const struct server_link *link)
{
	if (link->h2)
		return h2_server_is_over(link->h2);
	return !link->connecting && !link->http1.end;
}

void servers_run(struct servers *servers)
{
	LIST_FOR_EACH(node, &servers->links) {
		struct server_link *link = link_of(node);

		if (link->h2)
			h2_server_run(link->h2);
		else
			http1_server_run(&link->http1);
		if (servers->http->over)
			return;
		if (is_gone(link))
			free_link(link);
	}
	assign(servers);
}

static bool is_open(const struct servers *self, const struct address *address)
{
	const struct target *target = &self->target;

	return !address->family || !target->name || target->is_host ||
	       policy_decide_resolved(self->http->flow->gate->config->policy,
				      target->name, address, target->port)
			       .answer == POLICY_ALLOW;
}

static void revoke_exchange(struct exchange *exchange)
{
	if (exchange)
		exchange_reset(exchange, AUDIT_DENY, "revoked", ECONNREFUSED);
}

void servers_recheck(struct servers *servers)
{
	LIST_FOR_EACH(node, &servers->links) {
		struct server_link *link = link_of(node);

		if (is_open(servers, &link->address))
			continue;
		if (link->h2)
			h2_server_revoke(link->h2);
		revoke_exchange(link->http1.base.exchange);
		if (servers->http->over)
			return;
		free_link(link);
	}
}
