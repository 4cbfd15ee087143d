/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_internal.h - what the parts of a flow share
 *
 * flow.c         its ends and the tunnel between them
 * flow_decide.c  from a target to a connection, or to a refusal
 * flow_tls.c     whose name a TLS client may say
 * flow_intercept.c  TLS with the client in the place of the server
 * flow_websocket.c  a tunnel whose server knows a secret
 */
#pragma once

#include "net/flow.h"

struct client_hello;

/* flow.c */
void flow_on_event(struct end *end);
void flow_run_tunnel(struct flow *flow);

/* flow_decide.c */
void flow_peek(struct flow *flow);
void flow_on_answer(struct ask_waiter *waiter, enum ask_answer answer);
/* The guest, or the client of our proxy, hears that it is connected. */
void flow_announce(struct flow *flow);
/* protocol: AUDIT_HTTP or AUDIT_HTTPS. */
void flow_begin_http(struct flow *flow, enum audit_protocol protocol);
/* May what the client said first pass? Closes the flow when not. */
bool flow_check_client(struct flow *flow);

/* flow_tls.c */
/* NULL: this ClientHello may go to the target; else why not. */
const char *flow_check_hello(struct flow *flow,
			     const struct client_hello *hello);
/* The first hello may pass; what follows is watched. */
void flow_watch_tls(struct flow *flow, const struct client_hello *hello);
/* From the client to the server; closes the flow when it must not pass. */
size_t flow_move_watched(struct flow *flow);

/* flow_intercept.c */
/* Of what was allowed: somebody must see the requests. */
bool flow_must_intercept(const struct flow *flow);
/* One is bound to the target. */
bool flow_has_secret(const struct flow *flow);
void flow_intercept(struct flow *flow);
/* FLOW_SECURING: something changed. */
void flow_secure(struct flow *flow);
/* Denies it, with an answer where one can be read. reason: static. */
void flow_refuse(struct flow *flow, const char *reason);

/* flow_websocket.c */
void flow_drop_secrets(struct flow *flow);
/* A secret that went out is no longer bound to the target. */
bool flow_lost_secret(const struct flow *flow);
/* From the server to the client; closes the flow when it must not pass. */
size_t flow_move_masked(struct flow *flow, size_t budget);
