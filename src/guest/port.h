/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.h - the virtio-serial port to the supervisor
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "proto/mux.h"

#define PORT_NAME "bawn.control"
/* The driver makes one request of each write, of at most so many bytes. */
#define PORT_WRITE_BYTES (32u * 1024)

struct port {
	struct source source; /* fd owned */
	struct loop *loop;
	struct mux *mux;
	struct timer reconnect; /* the host's end is closed just now */
	/* The channel cannot be used any more; err says why. */
	void (*on_broken)(void *ctx, const char *why);
	void *ctx;
	uint64_t lost_since_ms; /* 0 = connected */
	size_t pending, sent;   /* of bytes */
	uint8_t bytes[PORT_WRITE_BYTES];
};

/* Waits for the port of that name and opens it; -1 with err. */
struct error;
int port_find(const char *name, unsigned timeout_ms, struct error *err);
/* Takes fd. The mux, the callback and its ctx are set by the caller before. */
int port_start(struct port *port, struct loop *loop, int fd, struct error *err);
/* Writes what the mux has; true when nothing is left. */
bool port_flush(struct port *port);
