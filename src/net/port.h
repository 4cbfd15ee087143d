/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.h - frames to and from the guest, over the port
 *
 * Reads what is there, writes once for each round of the loop. While the guest
 * does not read its answers nothing more is read from it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "proto/mux.h"
#include "proto/net_messages.h"

struct error;
struct port;

struct port_ops {
	/* -1: it makes no sense here, and the channel is given up. */
	int (*on_message)(void *ctx, const struct net_message *message);
	void (*on_stream)(void *ctx, struct mux_stream *stream);
	/* The guest is in step: HELLO follows. */
	void (*on_marker)(void *ctx);
	/* End of file, or `why` the protocol is broken. */
	void (*on_end)(void *ctx, const char *why);
};

struct port {
	struct source source; /* its fd is borrowed */
	struct mux mux;
	const struct port_ops *ops;
	void *ctx;
	uint8_t *in, *out; /* owned */
	uint8_t *slots;    /* owned mapping; NULL: the guest has none */
	size_t out_start, out_len;
	bool ended;
};

/* fd is made non-blocking. */
void port_init(struct port *port, int fd, const struct port_ops *ops,
	       void *ctx);
void port_release(struct port *port);
/*
 * The memory that the guest reads large DATA from, when it says that it does.
 * Takes fd; -1: there is none.
 */
int port_map_slots(struct port *port, int fd, struct error *err);
/* Another HELLO: whether the guest reads them, and none is in use. */
void port_use_slots(struct port *port, bool read);
/*
 * Sends the marker and drops input up to its echo, but for calls (call.h).
 * Before port_start().
 */
void port_expect_marker(struct port *port,
			const uint8_t marker[MUX_MARKER_BYTES]);
int port_start(struct port *port, struct loop *loop, struct error *err);
/* A message that does not fit into the queue ends the channel. */
void port_send(struct port *port, const struct net_message *message);
/* Writes what the round collected. */
void port_flush(struct port *port);
