/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - processes in the guest and who watches them
 *
 * A session has two streams to the guest (one with a pty) and any number of
 * clients. Output goes to all of them at the pace of the slowest; one that
 * stands still while others read is skipped, and sees a redrawn screen when it
 * is back. A session without clients runs on: the main session into its
 * picture of the screen, others into nothing.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"
#include "proto/messages.h"

struct client;
struct error;
struct guest_link;
struct mux_stream;
struct screen;

#define SESSIONS_MAX 100 /* two streams each, and the mux has 256 */

/* What `exec` asks for, checked. Strings are borrowed from the request. */
struct session_request {
	json_t *argv, *env; /* arrays of strings, borrowed */
	const char *folder, *user;
	bool tty, has_stdin, detach, main, make_folder;
	uint16_t rows, cols;
};

struct session {
	struct list link;
	struct sessions *sessions;
	uint32_t id;
	uint32_t pid; /* 0 until the guest says it */
	json_t *argv; /* owned, for `status` */
	bool tty, main;
	int64_t started; /* seconds since 1970 */
	struct list clients;
	unsigned client_count;

	/* private */
	struct client *opener; /* waits for the start; NULL when gone */
	bool detach;           /* the opener wants no frames */
	bool abandoned;        /* the opener went away before the start */
	struct mux_stream *stdio, *errors;
	bool exited;
	uint32_t status;
	struct screen *screen; /* owned; main session with a tty */
	struct timer kill_timer;
	struct timer stall_timer;
	struct timer turn_timer; /* goes on with a long output */
	/*
	 * Restored: nobody here knows its screen. A program draws anew when
	 * its size changes, so that the first size is at first a row less.
	 */
	bool unseen, redrawing;
	uint16_t rows, cols; /* what redraw_timer brings */
	struct timer redraw_timer;
};

struct sessions_ops {
	/* reply->pid 0: it failed, and the session is freed afterwards. */
	void (*on_start)(void *ctx, struct session *session,
			 struct client *opener,
			 const struct message_session_started *reply);
	void (*on_exit)(void *ctx, struct session *session, uint32_t status);
};

struct sessions {
	const struct sessions_ops *ops;
	void *ctx;
	struct loop *loop;
	struct guest_link *guest;
	struct list all;
	unsigned count;
	uint32_t next_id, next_stream;
};

void sessions_init(struct sessions *sessions, struct loop *loop,
		   struct guest_link *guest, const struct sessions_ops *ops,
		   void *ctx);
/* For snapshot.json, and back: the guest has them, their clients are gone.
 * text may be NULL; what is wrong in it is left out. */
json_t *session_save(const struct session *session);
void sessions_restore(struct sessions *sessions, const char *text);
/* The machine is gone: every client learns why, every session is freed. */
void sessions_lost(struct sessions *sessions, const char *why);
/* The live main session or NULL. */
struct session *sessions_main(struct sessions *sessions);
struct session *sessions_find(struct sessions *sessions, uint32_t id);

/* Asks the guest; on_start follows. opener may be NULL. */
int session_start(struct sessions *sessions,
		  const struct session_request *request, struct client *opener,
		  struct error *err);
/* The client must be in session mode already. Draws the screen for it. */
void session_join(struct session *session, struct client *client);
/* The client leaves; the session ends with its opener (PROTOCOL.md §6). */
void session_leave(struct session *session, struct client *client,
		   bool detached);
void session_stdin(struct session *session, struct client *client);
void session_resize(struct session *session, uint16_t rows, uint16_t cols);
void session_signal(struct session *session, uint32_t signal);
int session_kill(struct session *session, struct error *err);
/* Moves output on; a client has room again. */
void session_pump(struct session *session);

/* What the guest said; false: it cannot have meant us. */
bool sessions_on_started(struct sessions *sessions,
			 const struct message_session_started *message);
bool sessions_on_exited(struct sessions *sessions,
			const struct message_session_exited *message);
void sessions_on_stream(struct sessions *sessions, struct mux_stream *stream);
