/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gate.h - all that bawn-net holds, and what happens to the whole of it
 */
#pragma once

#include "base/list.h"
#include "base/loop.h"
#include "net/ask.h"
#include "net/audit.h"
#include "net/ca.h"
#include "net/control.h"
#include "net/deadline.h"
#include "net/end.h"
#include "net/inject.h"
#include "net/keys.h"
#include "net/layers.h"
#include "net/limit.h"
#include "net/names.h"
#include "net/port.h"
#include "net/published.h"
#include "net/renew.h"
#include "net/sockets.h"
#include "net/trust.h"
#include "wire/http1_encode.h"

struct bindings;
struct config;
struct error;
struct flow;
struct resolver;

struct gate {
	struct loop *loop;
	struct config *start;  /* owned: what never changes */
	struct config *config; /* owned, or `start`: what is in force */
	const char *why;       /* NULL, or why it ends with an error */

	struct port port;
	struct control control;
	bool greeted; /* HELLO came in this epoch */
	struct names names;
	struct audit audit;
	int log_fd; /* owned when it came by packet */
	struct ends ends;
	struct resolver *resolver; /* owned */
	struct trust trust;
	struct ca ca;

	struct keys keys;
	struct bindings *bindings; /* owned reference: secrets; NULL: none */
	struct renewals renewals;

	struct layers layers;
	struct asks asks;
	struct published published;
	struct sockets sockets;
	struct list flows; /* every connection, see flow.h */
	uint32_t last_id;  /* of a flow, for the log */
	unsigned half_open;
	unsigned intercepted; /* flows */

	/* What is waited for, and how long: limit.h */
	struct deadlines soon, peek, connect, next_address, linger, socket,
		layer;

	/* To put pieces together in; nothing in it outlives a callback. */
	uint8_t scratch[HTTP1_HEAD_MAX + 4096];
	uint8_t encoded[HTTP1_ENCODED_MAX];
	size_t encoded_len; /* of a request's head in it */
	uint8_t masked[HTTP1_ENCODED_MAX];
	char secret_arena[INJECT_ARENA_SIZE]; /* wiped after use */
};

/* Descriptors that the process was started with. */
struct gate_fds {
	int port, control, names, log, keys, slots;
};

/* Takes config. All that needs the file system happens here. */
int gate_init(struct gate *gate, struct loop *loop, struct config *config,
	      const struct gate_fds *fds, struct error *err);
/* Begins to serve. */
int gate_start(struct gate *gate, struct error *err);
void gate_release(struct gate *gate);
/* Ends the process; why is NULL when that was planned. */
void gate_stop(struct gate *gate, const char *why);

/* What is refused leaves the old in force. Decides every flow again. */
int gate_reconfigure(struct gate *gate, int fd, struct error *err);
/* Takes the reference; NULL: none. Requests with what is gone are closed. */
void gate_use_bindings(struct gate *gate, struct bindings *bindings);
/* Takes fd. */
void gate_use_log(struct gate *gate, int fd);
