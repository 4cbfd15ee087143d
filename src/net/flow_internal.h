/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_internal.h - what the parts of a flow share
 *
 * flow.c         its ends and the tunnel between them
 * flow_decide.c  from a target to a connection, or to a refusal
 * flow_tls.c     whose name a TLS client may say
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
