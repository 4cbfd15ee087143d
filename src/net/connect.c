/* SPDX-License-Identifier: Apache-2.0 */
/*
 * connect.c - from a target that policy allowed to a connected end
 */
#include "net/connect.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "net/config.h"
#include "net/decision.h"
#include "net/end.h"
#include "net/end_tls.h"
#include "net/gate.h"
#include "net/resolver.h"
#include "net/target.h"
#include "net/upstream_proxy.h"

struct connecting {
	struct gate *gate;
	connect_fn *fn;
	void *ctx;
	struct target target;
	enum connect_use use;

	struct proxy_url proxy;
	bool by_proxy, absolute;
	struct lookup *lookup;       /* owned */
	struct handshake *handshake; /* owned */
	struct end *secure;          /* owned: TLS that is being begun */

	struct address candidates[LIMIT_CANDIDATES];
	struct end *tries[LIMIT_CANDIDATES]; /* owned; NULL: not, no more */
	size_t count, next;
	uint16_t port;

	struct deadline whole;        /* over all */
	struct deadline next_address; /* the next beside the others */
	struct deadline soon;         /* what failed at once is told later */
	struct connected result;
};

static const char closed_address[] = "the name leads to a closed address";

static void release(struct connecting *self)
{
	lookup_cancel(self->lookup);
	handshake_cancel(self->handshake);
	end_close(self->secure, ECONNRESET);
	for (size_t i = 0; i < self->count; i++)
		end_close(self->tries[i], 0);
	deadline_stop(&self->whole);
	deadline_stop(&self->next_address);
	deadline_stop(&self->soon);
	target_release(&self->target);
	self->gate->half_open--;
	loop_defer_free(self->gate->loop, self);
}

static void finish(struct connecting *self)
{
	struct connected result = self->result;
	connect_fn *fn = self->fn;
	void *ctx = self->ctx;

	result.by_proxy = self->by_proxy;
	result.absolute = self->absolute && result.end;
	if (result.absolute)
		result.login = upstream_proxy_login(&self->proxy);
	release(self);
	fn(ctx, &result);
}

/* Told from the loop: whoever started this is not done with starting it. */
static void fail_soon(struct connecting *self, int code, const char *reason)
{
	self->result.code = code;
	self->result.reason = reason;
	deadline_stop(&self->next_address);
	deadline_start(&self->gate->soon, &self->soon);
}

static void on_soon(struct deadline *deadline)
{
	finish(CONTAINER_OF(deadline, struct connecting, soon));
}

static void on_whole(struct deadline *deadline)
{
	struct connecting *self =
		CONTAINER_OF(deadline, struct connecting, whole);

	self->result.code = ETIMEDOUT;
	self->result.reason = "no connection in time";
	finish(self);
}

static void on_secure(struct end *end)
{
	struct connecting *self = end->owner;

	if (end->error) {
		self->result.code = EPROTO;
		self->result.reason =
			end->problem ? end->problem : "TLS failed";
	} else if (!end->connected) {
		return;
	} else {
		end->on_event = NULL;
		end->owner = NULL;
		self->result.end = TAKE_PTR(self->secure);
	}
	finish(self);
}

/* Takes end, which leads to the target and to nothing else. */
static void use_end(struct connecting *self, struct end *end)
{
	struct authority peer = { 0 };
	SSL_CTX *context;

	if (self->use != CONNECT_HTTPS && self->use != CONNECT_HTTPS_1) {
		self->result.end = end;
		finish(self);
		return;
	}
	target_host(&self->target, peer.host);
	peer.address = self->target.address;
	peer.port = self->target.port;
	context = trust_context(&self->gate->trust);
	self->secure = end_tls_client(
		&self->gate->ends, end, context, &peer,
		self->use == CONNECT_HTTPS_1 ? END_TLS_HTTP_1 : END_TLS_HTTP,
		self->by_proxy ? NULL : &self->gate->trust.sessions);
	if (self->secure) {
		self->secure->owner = self;
		self->secure->on_event = on_secure;
		return;
	}
	self->result.code = EPROTO;
	self->result.reason =
		context ? "TLS failed" : "the host trusts no authority at all";
	finish(self);
}

static void on_handshake(void *ctx, struct end *end, const char *why)
{
	struct connecting *self = ctx;

	self->handshake = NULL;
	if (end) {
		use_end(self, end);
		return;
	}
	self->result.code = ECONNREFUSED;
	self->result.reason = why;
	finish(self);
}

/* The host's proxy is the host's own choice: any address will do. */
static bool may_use(const struct connecting *self,
		    const struct address *address)
{
	struct policy_verdict verdict;

	if (self->by_proxy || !self->target.name || self->target.is_host)
		return true;
	verdict = policy_decide_resolved(self->gate->config->policy,
					 self->target.name, address,
					 self->target.port);
	return verdict.answer == POLICY_ALLOW;
}

static void won(struct connecting *self, size_t index)
{
	struct end *end = TAKE_PTR(self->tries[index]);

	end->on_event = NULL;
	end->owner = NULL;
	for (size_t i = 0; i < self->count; i++)
		end_close(TAKE_PTR(self->tries[i]), 0);
	deadline_stop(&self->next_address);
	self->result.address = self->by_proxy ? (struct address){ 0 }
					      : self->candidates[index];
	/* The rules may have changed while it was being made. */
	if (!may_use(self, &self->candidates[index])) {
		end_close(end, ECONNRESET);
		self->result.denied = true;
		self->result.code = EACCES;
		self->result.reason = closed_address;
		finish(self);
		return;
	}
	if (!self->by_proxy) {
		use_end(self, end);
		return;
	}
	self->handshake = handshake_start(self->gate, &self->proxy, end,
					  self->absolute ? NULL : &self->target,
					  on_handshake, self);
}

static bool any_try(const struct connecting *self)
{
	for (size_t i = 0; i < self->next; i++) {
		if (self->tries[i])
			return true;
	}
	return false;
}

static const char *text_of(int code)
{
	switch (code) {
	case ECONNREFUSED:
		return "the server refuses connections";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "the server cannot be reached";
	case ETIMEDOUT:
		return "no connection in time";
	default:
		return "the connection failed";
	}
}

static void on_try(struct end *end);

/* Begins with the next address; when there is none left, that was it. */
static void try_next(struct connecting *self)
{
	struct error err = { 0 };

	while (self->next < self->count) {
		size_t index = self->next++;
		struct end *end = end_socket_connect(&self->gate->ends,
						     &self->candidates[index],
						     self->port, &err);

		if (!end) {
			self->result.code = err.code;
			continue;
		}
		end->owner = self;
		end->on_event = on_try;
		self->tries[index] = end;
		if (self->next < self->count)
			deadline_start(&self->gate->next_address,
				       &self->next_address);
		return;
	}
	if (!any_try(self))
		fail_soon(self, self->result.code, text_of(self->result.code));
}

static void on_try(struct end *end)
{
	struct connecting *self = end->owner;
	size_t index = 0;

	while (self->tries[index] != end)
		index++;
	if (end->connected) {
		won(self, index);
		return;
	}
	if (!end->error)
		return;
	self->result.code = end->error;
	end_close(TAKE_PTR(self->tries[index]), 0);
	try_next(self);
}

static void on_next_address(struct deadline *deadline)
{
	try_next(CONTAINER_OF(deadline, struct connecting, next_address));
}

static void use_addresses(struct connecting *self,
			  const struct address *addresses, size_t count)
{
	for (size_t i = 0; i < count && self->count < LIMIT_CANDIDATES; i++) {
		if (may_use(self, &addresses[i]))
			self->candidates[self->count++] = addresses[i];
	}
	if (self->count) {
		try_next(self);
		return;
	}
	self->result.denied = true;
	self->result.address = addresses[0];
	fail_soon(self, EACCES, closed_address);
}

static void on_lookup(void *ctx, const struct address *addresses, size_t count,
		      const char *why)
{
	struct connecting *self = ctx;

	self->lookup = NULL;
	if (count)
		use_addresses(self, addresses, count);
	else
		fail_soon(self, EHOSTUNREACH, why);
}

static void find_name(struct connecting *self, const char *name)
{
	struct address found[LIMIT_CANDIDATES];
	size_t count = hosts_table_find(&self->gate->config->hosts, name, found,
					LIMIT_CANDIDATES);

	if (count)
		use_addresses(self, found, count);
	else
		self->lookup = lookup_start(self->gate->resolver, name,
					    on_lookup, self);
}

static void begin_loopback(struct connecting *self)
{
	self->candidates[0] = (struct address){ ADDRESS_V4, { 127, 0, 0, 1 } };
	self->candidates[1] = (struct address){ ADDRESS_V6, { [15] = 1 } };
	self->count = 2;
	try_next(self);
}

static void begin_address(struct connecting *self,
			  const struct address *address)
{
	self->candidates[0] = *address;
	self->count = 1;
	try_next(self);
}

static void begin_proxy(struct connecting *self,
			const struct decision *decision)
{
	const struct authority *server = &self->proxy.server;

	self->by_proxy = true;
	self->absolute = self->use == CONNECT_HTTP &&
			 upstream_proxy_takes_requests(&self->proxy);
	self->port = server->port;
	if (self->proxy.kind == PROXY_UNUSABLE) {
		fail_soon(self, EHOSTUNREACH,
			  "the host's proxy setting is not understood");
	} else if (!decision_passes_proxy(decision, &self->target)) {
		self->result.denied = true;
		fail_soon(self, EACCES, CONNECT_NOT_BY_PROXY);
	} else if (server->address.family) {
		begin_address(self, &server->address);
	} else {
		find_name(self, server->host);
	}
}

struct connecting *connect_start(struct gate *gate, const struct target *target,
				 const struct decision *decision,
				 enum connect_use use, connect_fn *fn,
				 void *ctx)
{
	const struct proxy_url *proxy =
		upstream_proxy_for(gate->config, target, use == CONNECT_HTTP);
	struct connecting *self;

	if (gate->half_open >= LIMIT_HALF_OPEN)
		return NULL;
	gate->half_open++;
	self = xcalloc(1, sizeof(*self));
	*self = (struct connecting){ .gate = gate,
				     .fn = fn,
				     .ctx = ctx,
				     .use = use,
				     .port = target->port };
	target_copy(target, &self->target);
	deadline_init(&self->whole, on_whole);
	deadline_init(&self->next_address, on_next_address);
	deadline_init(&self->soon, on_soon);
	deadline_start(&gate->connect, &self->whole);
	if (proxy) {
		self->proxy = *proxy;
		begin_proxy(self, decision);
	} else if (target->is_host) {
		begin_loopback(self);
	} else if (target->name) {
		find_name(self, target->name);
	} else {
		begin_address(self, &target->address);
	}
	return self;
}

bool connect_is_by_proxy(const struct connecting *connecting)
{
	return connecting->by_proxy;
}

void connect_cancel(struct connecting *connecting)
{
	if (connecting)
		release(connecting);
}
