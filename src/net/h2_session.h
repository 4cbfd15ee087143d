/* SPDX-License-Identifier: Apache-2.0 */
/*
 * h2_session.h - a connection that speaks HTTP/2, whichever side we are
 *
 * Bytes go from the end to the library and back; what it finds in them is left
 * in the streams. A peer that floods us is cut off.
 */
#pragma once

#include <nghttp2/nghttp2.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "net/h2_budget.h"

struct end;
struct gate;
struct h2_session;
struct h2_stream;
struct http;

/* The peer opened a stream; NULL: it cannot. Of a client's session only. */
typedef struct h2_stream *h2_open_fn(struct h2_session *session);

struct h2_session {
	nghttp2_session *library; /* owned */
	struct gate *gate;
	struct http *http;
	struct end *end; /* borrowed */
	h2_open_fn *on_open;
	struct list streams; /* h2_stream.link; those who made them free them */
	unsigned count;
	struct h2_budget resets, others;
	bool greeted;      /* the peer's settings came */
	bool heading;      /* a head is on its way */
	bool refused;      /* the peer wants no new streams */
	const char *broke; /* NULL, or how the peer broke the rules (static) */
};

/* on_open: the peer is the client; NULL: it is the server. */
void h2_session_init(struct h2_session *session, struct http *http,
		     struct end *end, h2_open_fn *on_open);
/* Its streams are gone before. */
void h2_session_release(struct h2_session *session);
/* Reads what came, as far as it can be answered. */
void h2_session_receive(struct h2_session *session);
void h2_session_send(struct h2_session *session);
/* Nothing will be read or written any more. */
bool h2_session_is_over(const struct h2_session *session);
/* Is the way out free enough for another head? */
bool h2_session_takes_head(const struct h2_session *session);
