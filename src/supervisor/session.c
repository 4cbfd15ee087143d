/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.c - the life of a session; session_io.c moves its bytes
 */
#include "supervisor/session.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "proto/cursor.h"
#include "supervisor/client.h"
#include "supervisor/guest_link.h"
#include "supervisor/screen.h"
#include "supervisor/session_internal.h"

enum {
	HANGUP_KILL_MS = 5000,
	REDRAW_MS = 250, /* a program that is emulated sees both sizes */
};

void sessions_init(struct sessions *sessions, struct loop *loop,
		   struct guest_link *guest, const struct sessions_ops *ops,
		   void *ctx)
{
	*sessions = (struct sessions){
		.ops = ops,
		.ctx = ctx,
		.loop = loop,
		.guest = guest,
		.next_id = 1,
		.next_stream = 1,
	};
	list_init(&sessions->all);
}

static void close_stream(struct mux_stream **stream)
{
	if (!*stream)
		return;
	(*stream)->owner = NULL;
	mux_stream_close(*stream, 0);
	*stream = NULL;
}

static void session_free(struct session *session)
{
	timer_stop(&session->kill_timer);
	timer_stop(&session->stall_timer);
	timer_stop(&session->turn_timer);
	timer_stop(&session->redraw_timer);
	if (session->opener)
		session->opener->session = NULL;
	close_stream(&session->stdio);
	close_stream(&session->errors);
	list_remove(&session->link);
	session->sessions->count--;
	json_decref(session->argv);
	screen_free(session->screen);
	session->screen = NULL;
	loop_defer_free(session->sessions->loop, session);
}

struct session *sessions_find(struct sessions *sessions, uint32_t id)
{
	LIST_FOR_EACH(node, &sessions->all) {
		struct session *session =
			LIST_ENTRY(node, struct session, link);

		if (session->id == id)
			return session;
	}
	return NULL;
}

struct session *sessions_main(struct sessions *sessions)
{
	LIST_FOR_EACH(node, &sessions->all) {
		struct session *session =
			LIST_ENTRY(node, struct session, link);

		if (session->main)
			return session;
	}
	return NULL;
}

/* The strings of a JSON array, one after another with their NULs. */
static int join_strings(const json_t *array, struct buffer *out,
			struct message_strings *strings, struct error *err)
{
	size_t i;
	json_t *item;

	json_array_foreach(array, i, item)
	{
		const char *text = json_string_value(item);

		if (buffer_append(out, text, strlen(text) + 1) < 0)
			return error_set(err, E2BIG, "arguments are too long");
	}
	strings->count = (uint32_t)json_array_size(array);
	strings->first = (const char *)out->data;
	return 0;
}

static int send_start(struct session *session,
		      const struct session_request *request, struct error *err)
{
	AUTO_BUFFER struct buffer argv = BUFFER_INIT(FRAME_MESSAGE_MAX);
	AUTO_BUFFER struct buffer env = BUFFER_INIT(FRAME_MESSAGE_MAX);
	struct message message = { .type = MESSAGE_SESSION_START };
	struct message_session_start *start = &message.session_start;

	start->session = session->id;
	start->flags =
		(request->tty ? SESSION_PTY : 0) |
		(request->has_stdin ? SESSION_STDIN : 0) |
		(request->detach && !request->tty ? SESSION_NO_OUTPUT : 0) |
		(request->make_folder ? SESSION_MAKE_FOLDER : 0);
	start->stdio_stream = session->stdio->id;
	start->stderr_stream = session->errors ? session->errors->id : 0;
	start->rows = request->rows;
	start->cols = request->cols;
	start->user = request->user;
	start->folder = request->folder;
	if (join_strings(request->argv, &argv, &start->argv, err) < 0 ||
	    join_strings(request->env, &env, &start->env, err) < 0)
		return -1;
	return guest_link_send(session->sessions->guest, &message, err);
}

static void on_kill_timer(struct timer *timer)
{
	struct session *session =
		CONTAINER_OF(timer, struct session, kill_timer);

	session_kill(session, NULL);
}

static void send_size(struct session *session, uint16_t rows, uint16_t cols)
{
	struct message message = {
		.type = MESSAGE_SESSION_RESIZE,
		.session_resize = { session->id, rows, cols },
	};

	guest_link_send(session->sessions->guest, &message, NULL);
}

static void on_redraw_timer(struct timer *timer)
{
	struct session *session =
		CONTAINER_OF(timer, struct session, redraw_timer);

	session->redrawing = false;
	send_size(session, session->rows, session->cols);
}

static struct session *session_new(struct sessions *sessions,
				   const struct session_request *request,
				   uint32_t id)
{
	struct session *session = xcalloc(1, sizeof(*session));

	session->sessions = sessions;
	session->id = id;
	session->argv = json_incref(request->argv);
	session->tty = request->tty;
	session->main = request->main;
	session->detach = request->detach;
	session->started = time(NULL);
	session->kill_timer = (struct timer){ .name = "session kill",
					      .on_fire = on_kill_timer };
	session->stall_timer = (struct timer){ .name = "session stall",
					       .on_fire = session_on_stall };
	session->turn_timer = (struct timer){ .name = "session turn",
					      .on_fire = session_on_turn };
	session->redraw_timer = (struct timer){ .name = "session redraw",
						.on_fire = on_redraw_timer };
	list_init(&session->clients);
	if (session->main && session->tty)
		session->screen = screen_new(request->rows, request->cols);
	list_append(&sessions->all, &session->link);
	sessions->count++;
	return session;
}

struct session *session_add(struct sessions *sessions,
			    const struct session_request *request, uint32_t id)
{
	struct session *session = session_new(sessions, request, id);
	struct mux *mux = &sessions->guest->mux;

	session->stdio = mux_stream_open(mux, sessions->next_stream++, session);
	if (!session->tty)
		session->errors =
			mux_stream_open(mux, sessions->next_stream++, session);
	if (session->stdio && (session->tty || session->errors))
		return session;
	session_free(session);
	return NULL;
}

int session_start(struct sessions *sessions,
		  const struct session_request *request, struct client *opener,
		  struct error *err)
{
	struct session *session;

	if (request->main && sessions_main(sessions))
		return error_set(err, EEXIST,
				 "the agent's session is running already");
	if (sessions->count >= SESSIONS_MAX)
		return error_set(err, EAGAIN, "%u sessions are open already",
				 sessions->count);
	session = session_add(sessions, request, sessions->next_id++);
	if (!session)
		return error_set(err, EAGAIN, "no stream is free");
	session->opener = opener;
	if (opener)
		opener->session = session;
	if (send_start(session, request, err) < 0) {
		session_free(session);
		return -1;
	}
	/* The other direction of stderr carries nothing, ever. */
	if (session->errors)
		mux_stream_eof(session->errors);
	if (!request->has_stdin && !session->tty)
		mux_stream_eof(session->stdio);
	guest_link_flush(sessions->guest);
	return 0;
}

bool sessions_on_started(struct sessions *sessions,
			 const struct message_session_started *message)
{
	struct session *session = sessions_find(sessions, message->session);
	struct client *opener;

	if (!session || session->pid)
		return false;
	opener = session->opener;
	session->opener = NULL;
	if (opener)
		opener->session = NULL;
	session->pid = message->pid;
	sessions->ops->on_start(sessions->ctx, session, opener, message);
	if (!message->pid)
		session_free(session);
	else if (session->abandoned)
		session_kill(session, NULL);
	return true;
}

bool sessions_on_exited(struct sessions *sessions,
			const struct message_session_exited *message)
{
	struct session *session = sessions_find(sessions, message->session);

	if (!session || !session->pid || session->exited)
		return false;
	session->exited = true;
	session->status = message->status;
	session_pump(session);
	return true;
}

/* Every byte was delivered: the clients learn how it ended. */
void session_finish(struct session *session)
{
	struct sessions *sessions = session->sessions;
	uint8_t status[4];
	struct writer w = writer_over(status, sizeof(status));

	writer_u32(&w, session->status);
	LIST_FOR_EACH(node, &session->clients) {
		struct client *client =
			LIST_ENTRY(node, struct client, session_link);

		client_frame(client, SESSION_FRAME_EXIT, status,
			     sizeof(status));
		session_unlink(session, client);
		client_finish(client);
	}
	sessions->ops->on_exit(sessions->ctx, session, session->status);
	session_free(session);
}

void session_unlink(struct session *session, struct client *client)
{
	list_remove(&client->session_link);
	client->session = NULL;
	session->client_count--;
}

void session_leave(struct session *session, struct client *client,
		   bool detached)
{
	bool ends = client->opened_session && !detached && !session->main;

	if (session->opener == client) {
		session->opener = NULL;
		client->session = NULL;
		session->abandoned = !session->main;
		return;
	}
	session_unlink(session, client);
	if (ends && !session->exited) {
		session_signal(session, SIGHUP);
		timer_start(session->sessions->loop, &session->kill_timer,
			    HANGUP_KILL_MS);
	}
	/* It may have been the one that held the others up. */
	session_pump(session);
}

void session_resize(struct session *session, uint16_t rows, uint16_t cols)
{
	if (!session->tty || !rows || !cols)
		return;
	if (session->screen)
		screen_resize(session->screen, rows, cols);
	session->rows = rows;
	session->cols = cols;
	if (session->unseen && rows > 1) {
		session->unseen = false;
		session->redrawing = true;
		timer_start(session->sessions->loop, &session->redraw_timer,
			    REDRAW_MS);
		send_size(session, rows - 1, cols);
	} else if (!session->redrawing) {
		send_size(session, rows, cols);
	}
}

void session_signal(struct session *session, uint32_t signal)
{
	struct message message = {
		.type = MESSAGE_SESSION_SIGNAL,
		.session_signal = { session->id, signal },
	};

	if (signal == 0 || signal >= (uint32_t)SIGRTMAX)
		return;
	guest_link_send(session->sessions->guest, &message, NULL);
}

int session_kill(struct session *session, struct error *err)
{
	struct message message = {
		.type = MESSAGE_SESSION_KILL,
		.session_kill = { session->id },
	};

	return guest_link_send(session->sessions->guest, &message, err);
}

void sessions_lost(struct sessions *sessions, const char *why)
{
	LIST_FOR_EACH(node, &sessions->all) {
		struct session *session =
			LIST_ENTRY(node, struct session, link);

		LIST_FOR_EACH(entry, &session->clients) {
			struct client *client =
				LIST_ENTRY(entry, struct client, session_link);

			client_frame(client, SESSION_FRAME_LOST, why,
				     strlen(why));
			session_unlink(session, client);
			client_finish(client);
		}
		session_free(session);
	}
}
