/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.h - records in, records out, both bounded
 *
 * Records are handed over where they lie in the input buffer, and answers are
 * built where they leave from: no copy, no allocation. As many records as one
 * read brought are answered with one write. When the output has no room for
 * the largest answer, no record is handed over and nothing is read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "proto/record.h"

struct error;
struct port;

/* -1 gives the channel up. */
typedef int port_record_fn(void *ctx, const struct record *record,
			   const uint8_t *payload);
typedef void port_fn(void *ctx);

struct port {
	struct source source;
	uint8_t *in, *out; /* owned */
	size_t in_len, out_start, out_len;
	uint8_t marker[RECORD_MARKER_BYTES];
	uint8_t marker_back[RECORD_MARKER_BYTES]; /* where a search goes on */
	size_t marker_seen;
	bool synchronised;
	bool waits; /* input is here that has no room for its answers */
	port_record_fn *on_record;
	port_fn *on_room; /* output was written: there is room again */
	port_fn *on_end;  /* end of file or protocol broken: `why` */
	void *ctx;
	const char *why; /* NULL: the other side closed it */
};

/* fd is borrowed and made non-blocking. The caller sets the callbacks. */
void port_init(struct port *port, int fd);
void port_release(struct port *port);
/* Sends the marker and drops input up to its echo. Before port_start(). */
void port_expect_marker(struct port *port,
			const uint8_t marker[RECORD_MARKER_BYTES]);
int port_start(struct port *port, struct loop *loop, struct error *err);
void *port_room(struct port *port, size_t *left);
void port_commit(struct port *port, size_t len);
/* Writes what was committed outside of the port's own callbacks. */
void port_kick(struct port *port);
/* The last bytes: waits a little for a reader. */
void port_finish(struct port *port);
