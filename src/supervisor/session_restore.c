/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_restore.c - sessions that a snapshot has
 *
 * Their programs go on in the guest; here they get new streams and nobody who
 * watches. The list lies in snapshot.json, which is a stranger's.
 */
#include "supervisor/session.h"

#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/own.h"
#include "supervisor/guest_link.h"
#include "supervisor/session_internal.h"

#define ROWS 24
#define COLS 80

AUTO_DEFINE(json, json_t *, json_decref)

json_t *session_save(const struct session *session)
{
	return json_pack("{s:I, s:I, s:O, s:b, s:b, s:I}", "session",
			 (json_int_t)session->id, "pid",
			 (json_int_t)session->pid, "argv", session->argv, "tty",
			 session->tty, "main", session->main, "started",
			 (json_int_t)session->started);
}

static bool strings_only(const json_t *array)
{
	json_t *item;
	size_t i;

	json_array_foreach(array, i, item)
	{
		if (!json_is_string(item))
			return false;
	}
	return json_array_size(array) > 0;
}

static void attach(struct session *session)
{
	struct message message = {
		.type = MESSAGE_SESSION_ATTACH,
		.session_attach = { session->id, session->stdio->id,
				    session->errors ? session->errors->id : 0 },
	};
	struct error err;

	if (guest_link_send(session->sessions->guest, &message, &err) < 0)
		log_warn("session %u: %s", session->id, err.text);
	/* Its input has ended; a terminal's has not. */
	if (session->errors) {
		mux_stream_eof(session->errors);
		mux_stream_eof(session->stdio);
	}
}

static void restore_one(struct sessions *sessions, json_t *json)
{
	struct session_request request = { .rows = ROWS, .cols = COLS };
	json_int_t id, pid, started;
	int tty, main;
	struct session *session;

	if (json_unpack(json, "{s:I, s:I, s:o, s:b, s:b, s:I !}", "session",
			&id, "pid", &pid, "argv", &request.argv, "tty", &tty,
			"main", &main, "started", &started) < 0 ||
	    id < 1 || id > UINT32_MAX - 1 || pid < 1 || pid > INT32_MAX ||
	    !strings_only(request.argv) || sessions->count >= SESSIONS_MAX ||
	    sessions_find(sessions, (uint32_t)id))
		return;
	request.tty = tty;
	request.main = main && !sessions_main(sessions);
	session = session_add(sessions, &request, (uint32_t)id);
	if (!session)
		return;
	session->unseen = session->screen;
	session->pid = (uint32_t)pid;
	session->started = started;
	if (sessions->next_id <= session->id)
		sessions->next_id = session->id + 1;
	attach(session);
}

void sessions_restore(struct sessions *sessions, const char *text)
{
	AUTO(json) json_t *list = text ? json_loads(text, 0, NULL) : NULL;
	json_t *item;
	size_t i;

	json_array_foreach(list, i, item) restore_one(sessions, item);
	if (list)
		guest_link_flush(sessions->guest);
}
