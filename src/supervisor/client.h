/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - one connection of the control socket
 *
 * First JSON lines (PROTOCOL.md §5); after an accepted `exec` or `attach`
 * session frames (§6). Requests are answered in order: while one is under way
 * nothing is read. What a client is sent waits in `out`, bounded; who feeds it
 * asks client_room() before.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/list.h"
#include "base/loop.h"
#include "base/ring.h"
#include "ipc/session_frame.h"

struct client;
struct error;
struct session;

#define CLIENTS_MAX 128
#define CLIENT_FRAMES_ROOM (256u * 1024) /* of `out`, for session output */

enum client_mode {
	CLIENT_LINES,  /* reading the next request */
	CLIENT_BUSY,   /* a request is under way */
	CLIENT_FRAMES, /* part of a session */
	CLIENT_CLOSING /* nothing more is read; closed when `out` is empty */
};

struct clients_ops {
	/* A request; answer now or later with client_answer(). */
	void (*on_request)(struct client *client, json_t *request);
	/* stdin has bytes or has ended; see client.stdin_bytes. */
	void (*on_stdin)(struct client *client);
	void (*on_resize)(struct client *client, uint16_t rows, uint16_t cols);
	void (*on_signal)(struct client *client, uint32_t signal);
	/* There is room in `out` again. */
	void (*on_room)(struct client *client);
	/* The peer has gone, or let go of its session (detached). */
	void (*on_gone)(struct client *client, bool detached);
};

struct clients {
	const struct clients_ops *ops;
	void *ctx;
	struct loop *loop;
	struct list all;
	unsigned count;
	struct source listener;
	uid_t owner; /* who may connect, besides root */
};

struct client {
	struct list link;
	struct clients *clients;
	enum client_mode mode;

	/* of requests.c: what this client waits for, and its held request */
	int waits_for;
	json_t *request; /* owned */
	struct list session_link;
	struct session *session;
	bool opened_session;    /* by exec: it ends with this client */
	bool skipping;          /* fell behind; gets a redraw when it is back */
	uint64_t full_since_ms; /* 0: has room */

	struct ring stdin_bytes; /* received, not yet taken by the session */
	bool stdin_ended;

	/* private */
	struct source source;
	struct buffer in;
	struct ring out;
	uint32_t stdin_window; /* what the peer may still send */
	uint32_t ungranted;
};

/* listen_fd is borrowed. */
int clients_open(struct clients *clients, struct loop *loop, int listen_fd,
		 uid_t owner, const struct clients_ops *ops, void *ctx,
		 struct error *err);
/* Takes fd, also when it fails. bytes were read from it already. */
struct client *clients_add(struct clients *clients, int fd, const void *bytes,
			   size_t len, struct error *err);
/* No new connections. */
void clients_stop_listening(struct clients *clients);
/* True when nothing waits to be sent to anybody. */
bool clients_flushed(const struct clients *clients);
void clients_close(struct clients *clients);

/* Takes the reference. The client may send its next request. */
void client_answer(struct client *client, json_t *answer);
/* A line before the answer, which is still to come. Takes the reference. */
void client_progress(struct client *client, json_t *line);
/* As client_answer(), and session frames follow. */
void client_answer_session(struct client *client, json_t *answer);
size_t client_room(const struct client *client);
/* One frame of at most SESSION_FRAME_MAX bytes; what client_room() allows. */
void client_frame(struct client *client, enum session_frame_type type,
		  const void *bytes, size_t len);
/* len bytes of stdin_bytes were used: consumes them, grants window. */
void client_stdin_taken(struct client *client, size_t len);
/* Closes the connection once everything was sent. */
void client_finish(struct client *client);
