/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port.h - records in, records out, both bounded
 *
 * Records are handed over where they lie in the input buffer, and answers are
 * built where they leave from: no copy, no allocation. As many records as one
 * read brought are answered with one write. When the output has no room for
 * the largest answer, no record is handed over and nothing is read.
 *
 * Where the guest reads the memory of bulk.h, what is large is copied there
 * when it leaves, and a record that names the place goes through the port.
 * Where both sides have rings.h, bytes pass there after the greeting.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "proto/bulk.h"
#include "proto/call.h"
#include "proto/record.h"
#include "proto/rings.h"

struct error;
struct port;

/* -1 gives the channel up. */
typedef int port_record_fn(void *ctx, const struct record *record,
			   const uint8_t *payload);
typedef void port_fn(void *ctx);
/* One small thing; false: there is nothing to do. */
typedef bool port_idle_fn(void *ctx);

struct port {
	struct source source;
	struct source bell; /* rings.h; its descriptor is -1 without */
	struct rings rings;
	bool rings_out; /* what leaves goes there, but for … */
	size_t before;  /* … so many bytes of out that come first */
	bool rings_in;
	uint8_t *in, *out; /* owned */
	size_t in_len, out_start, out_len;
	size_t fresh;              /* of out_len, at its end: whole records */
	uint8_t *to_guest;         /* owned mapping; NULL: there is none */
	const uint8_t *from_guest; /* the same */
	bool reads_bulk;           /* the guest */
	bool direct;               /* the room that was asked for is there */
	struct bulk bulk;          /* of to_guest */
	uint8_t marker[RECORD_MARKER_BYTES];
	uint8_t marker_back[RECORD_MARKER_BYTES]; /* where a search goes on */
	size_t marker_seen;
	struct call_ear ear; /* for calls, until the marker came */
	bool synchronised;
	bool patient; /* who asked last: most of these do not wait */
	bool waits;   /* input is here that has no room for its answers */
	port_record_fn *on_record;
	port_fn *on_room; /* output was written: there is room again */
	/* Nobody waits for an answer, and there is room for another. */
	port_idle_fn *on_idle;
	port_fn *on_end; /* end of file or protocol broken: `why` */
	void *ctx;
	const char *why; /* NULL: the other side closed it */
};

/* fd is borrowed and made non-blocking. The caller sets the callbacks. */
void port_init(struct port *port, int fd);
void port_release(struct port *port);
/*
 * Sends the marker and drops input up to its echo, but for calls (call.h).
 * Before port_start().
 */
void port_expect_marker(struct port *port,
			const uint8_t marker[RECORD_MARKER_BYTES]);
/* Borrowed descriptors; -1: none. */
int port_map(struct port *port, int to_guest, int from_guest,
	     struct error *err);
int port_map_rings(struct port *port, int rings, int bell, struct error *err);
/* HELLO came. */
void port_use_bulk(struct port *port, bool reads);
/* What is committed from now on goes through the rings, if there are any. */
void port_use_rings(struct port *port);
/* RECORD_RINGS: so does what the guest sends from now on. -1: it is none. */
int port_rings_begin(struct port *port, const uint8_t *payload, size_t len);
int port_start(struct port *port, struct loop *loop, struct error *err);
void *port_room(struct port *port, size_t *left);
/*
 * The same for an answer of at most so many bytes. Where that is worth it, and
 * possible, it is built where the guest reads it.
 */
void *port_room_for(struct port *port, size_t most, size_t *left);
void port_commit(struct port *port, size_t len);
/* Writes what was committed outside of the port's own callbacks. */
void port_kick(struct port *port);
/* The last bytes: waits a little for a reader. */
void port_finish(struct port *port);
