/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_io.c - bytes between the guest's streams and the clients
 *
 * Output is taken from a stream, which grants the guest new window, only as
 * far as every client has room: a client that reads slowly slows its own
 * session down and no other.
 */
#include "supervisor/session.h"

#include "base/buffer.h"
#include "base/own.h"
#include "proto/mux.h"
#include "supervisor/client.h"
#include "supervisor/guest_link.h"
#include "supervisor/screen.h"
#include "supervisor/session_internal.h"

enum {
	STALL_MS = 1000, /* then a client no longer holds up the others */
	/* What no client and no picture wants is thrown away in one go. */
	UNWATCHED = MUX_WINDOW,
	/*
	 * A screen full of newlines costs a thousand times what its bytes
	 * cost: after this time the other sources have their turn.
	 */
	TURN_MS = 4,
	SCREEN_PIECE = 1024,
};

static void draw_for(struct session *session, struct client *client)
{
	AUTO_BUFFER struct buffer bytes = BUFFER_INIT(SCREEN_DRAW_MAX);

	if (!session->screen)
		return;
	screen_draw(session->screen, &bytes);
	for (size_t at = 0; at < bytes.len;) {
		size_t len = bytes.len - at;

		if (len > SESSION_FRAME_MAX)
			len = SESSION_FRAME_MAX;
		client_frame(client, SESSION_FRAME_STDOUT, bytes.data + at,
			     len);
		at += len;
	}
}

void session_join(struct session *session, struct client *client)
{
	client->session = session;
	list_append(&session->clients, &client->session_link);
	session->client_count++;
	if (!client->opened_session)
		draw_for(session, client);
}

/* Room of the slowest client that counts. */
static size_t output_room(struct session *session)
{
	size_t room = UNWATCHED;
	bool stalled = false;

	LIST_FOR_EACH(node, &session->clients) {
		struct client *client =
			LIST_ENTRY(node, struct client, session_link);
		size_t its = client_room(client);

		if (client->skipping)
			continue;
		if (its == 0 && !client->full_since_ms)
			client->full_since_ms = loop_now_ms();
		else if (its)
			client->full_since_ms = 0;
		stalled |= its == 0;
		if (its < room)
			room = its;
	}
	/* Only a picture can bring a client up to date later. */
	if (stalled && session->screen && session->client_count > 1 &&
	    !session->stall_timer.loop)
		timer_start(session->sessions->loop, &session->stall_timer,
			    STALL_MS);
	return room;
}

void session_on_stall(struct timer *timer)
{
	struct session *session =
		CONTAINER_OF(timer, struct session, stall_timer);
	uint64_t now_ms = loop_now_ms();

	LIST_FOR_EACH(node, &session->clients) {
		struct client *client =
			LIST_ENTRY(node, struct client, session_link);

		if (client->full_since_ms && !client_room(client) &&
		    now_ms - client->full_since_ms >= STALL_MS)
			client->skipping = true;
	}
	session_pump(session);
}

void session_on_turn(struct timer *timer)
{
	session_pump(CONTAINER_OF(timer, struct session, turn_timer));
}

static void deliver(struct session *session, enum session_frame_type type,
		    const uint8_t *bytes, size_t len)
{
	if (session->screen && type == SESSION_FRAME_STDOUT)
		screen_write(session->screen, bytes, len);
	LIST_FOR_EACH(node, &session->clients) {
		struct client *client =
			LIST_ENTRY(node, struct client, session_link);

		if (!client->skipping)
			client_frame(client, type, bytes, len);
	}
}

static void pump_stream(struct session *session, struct mux_stream *stream,
			enum session_frame_type type)
{
	size_t piece = session->screen ? SCREEN_PIECE : SESSION_FRAME_MAX;
	uint64_t begin_ms = loop_now_ms();
	struct iovec iov[2];

	while (stream && ring_readable(&stream->in, iov) > 0) {
		size_t room = output_room(session);
		size_t len = iov[0].iov_len;

		if (len > room)
			len = room;
		if (len > piece)
			len = piece;
		if (len == 0)
			return;
		if (loop_now_ms() - begin_ms > TURN_MS) {
			timer_start(session->sessions->loop,
				    &session->turn_timer, 0);
			return;
		}
		deliver(session, type, iov[0].iov_base, len);
		mux_stream_take(stream, len);
	}
}

static bool stream_ended(const struct mux_stream *stream)
{
	return !stream ||
	       (stream->in.len == 0 && (stream->peer_eof || stream->closed));
}

static void catch_up(struct session *session)
{
	LIST_FOR_EACH(node, &session->clients) {
		struct client *client =
			LIST_ENTRY(node, struct client, session_link);

		/* With all of its room it is reading again. */
		if (client->skipping &&
		    client_room(client) > CLIENT_FRAMES_ROOM / 2) {
			client->skipping = false;
			client->full_since_ms = 0;
			draw_for(session, client);
		}
	}
}

void session_pump(struct session *session)
{
	/* Output may come before the client knows that the session runs. */
	if (!session->pid)
		return;
	catch_up(session);
	pump_stream(session, session->stdio, SESSION_FRAME_STDOUT);
	pump_stream(session, session->errors, SESSION_FRAME_STDERR);
	if (session->exited && stream_ended(session->stdio) &&
	    stream_ended(session->errors)) {
		session_finish(session);
		return;
	}
	guest_link_flush(session->sessions->guest);
}

/* stdin of all clients goes into one stream, in the order it is taken. */
static void feed_from(struct session *session, struct client *client)
{
	struct mux_stream *stream = session->stdio;
	struct iovec iov[2];

	while (ring_readable(&client->stdin_bytes, iov) > 0) {
		size_t len = iov[0].iov_len;

		/* Nobody will read it: take it, so that no client hangs. */
		if (!stream->our_eof && !stream->closed && !session->exited)
			len = mux_stream_write(stream, iov[0].iov_base, len);
		if (len == 0)
			return;
		client_stdin_taken(client, len);
	}
	/* A terminal that several people watch has no end of file. */
	if (client->stdin_ended && !stream->our_eof &&
	    !(session->main && session->tty))
		mux_stream_eof(stream);
}

void session_stdin(struct session *session, struct client *client)
{
	feed_from(session, client);
	guest_link_flush(session->sessions->guest);
}

void sessions_on_stream(struct sessions *sessions, struct mux_stream *stream)
{
	struct session *session = stream->owner;

	if (!session)
		return;
	if (stream == session->stdio) {
		LIST_FOR_EACH(node, &session->clients) {
			feed_from(session, LIST_ENTRY(node, struct client,
						      session_link));
		}
	}
	session_pump(session);
}
