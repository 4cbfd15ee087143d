/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_internal.h - between session.c and session_io.c
 */
#pragma once

struct client;
struct session;
struct timer;

/* Tells the clients the exit status and frees the session. */
void session_finish(struct session *session);
void session_unlink(struct session *session, struct client *client);
/* The timer of a client that stands still. */
void session_on_stall(struct timer *timer);
/* The timer of an output that took more than its turn. */
void session_on_turn(struct timer *timer);

/* A session with open streams, of which the guest knows nothing yet; NULL when
 * no stream is free. */
struct session *session_add(struct sessions *sessions,
			    const struct session_request *request, uint32_t id);
