/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow.h - the life of one connection
 *
 * A flow joins the guest's end of a connection (client) with an end on the
 * host's side (server). Most begin with OPEN; a shared Unix socket and a
 * published port make flows too, which need no peeking and have no rule.
 *
 * OPEN: decide by target -> [80, 443, rules with methods: peek] -> [ask] ->
 * connect -> tunnel; or, when it speaks HTTP, http.h decides each request.
 * Inside TLS it does so too where it must: flow_intercept.c.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "net/ask.h"
#include "net/audit.h"
#include "net/deadline.h"
#include "net/decision.h"
#include "net/target.h"
#include "wire/tls_watch.h"

struct connected;
struct connecting;
struct end;
struct exchange_secrets;
struct flow_websocket;
struct gate;
struct http;

enum flow_kind {
	FLOW_OUT,       /* to the Internet or the host's loopback */
	FLOW_SOCKET,    /* to a shared Unix socket of the host */
	FLOW_PUBLISHED, /* into the guest; client is the host's side there */
};

enum flow_state {
	FLOW_PEEKING,  /* the client's first bytes say what it is; times out */
	FLOW_ASKING,   /* a person is asked; nothing moves */
	FLOW_SECURING, /* we speak TLS with the client, in the place of the
			  server; times out */
	FLOW_CONNECTING, /* waits for the server's end; times out */
	FLOW_TUNNEL,     /* bytes go both ways, as they come */
	FLOW_HTTP,       /* requests, decided one by one: `http` */
	FLOW_LINGERING,  /* answered for the last time: the client may read it;
			    times out */
	FLOW_GONE,       /* closed and logged; freed after this round */
};

struct flow {
	struct gate *gate;
	struct list link; /* of the gate's flows */
	uint32_t id;      /* in the log */
	enum flow_kind kind;
	enum flow_state state;
	enum audit_protocol protocol;
	uint32_t stream; /* of the port; 0: a proxy's tunnel was announced */

	struct end *client; /* owned */
	struct end *server; /* owned; NULL until it is connected */
	struct target target;
	struct decision decision;
	struct address address; /* of the server */
	bool by_proxy;          /* of the host */
	bool checked;           /* the client's first bytes may pass */
	bool named;             /* the ClientHello says the target's name */
	bool watched; /* it speaks TLS and may say a second ClientHello */
	struct tls_watch watch;
	size_t pass_left; /* bytes of the client that were judged already */

	struct connecting *connecting;    /* owned */
	struct http *http;                /* owned */
	struct flow_websocket *websocket; /* owned; NULL: nothing to mask */
	bool intercepted;                 /* client is TLS of ours */
	const char *refused; /* every request is, for this (static) */
	struct ask_waiter waiter;
	struct deadline deadline;
	uint64_t started_ms;
	uint64_t bytes_out, bytes_in; /* from and to the client */
	uint32_t index; /* of a socket, or id of a published port */
};

/* Takes client. The flow is in the gate's list, and nothing has begun. */
struct flow *flow_new(struct gate *gate, enum flow_kind kind,
		      struct end *client);
/* A flow with a target: decides what is to be done with it. */
void flow_begin(struct flow *flow);
/* Takes server: bytes may pass from now on. */
void flow_join(struct flow *flow, struct end *server);
/* Takes what is to be masked in a tunnel that began as a request. */
void flow_keep_secrets(struct flow *flow, struct exchange_secrets *secrets);
/* Closes both ends, the client's with this code, and frees it. */
void flow_close(struct flow *flow, int code);
/* The last answer was written: ends when the client has read it. */
void flow_linger(struct flow *flow);
/* Writes a line of the log about the connection as a whole. */
void flow_log(const struct flow *flow, enum audit_verdict verdict,
	      const char *reason);
/* Logs, and resets the client. */
void flow_deny(struct flow *flow, const char *reason);
/* The settings changed: what they no longer allow is closed. */
void flow_recheck(struct flow *flow);
/* A guest has too much in buffers. */
void flow_shed(struct flow *flow);
