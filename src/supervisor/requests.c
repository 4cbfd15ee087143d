/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests.c - table: op → handler
 *
 * A handler answers at once, or notes in client->waits_for what it waits for.
 */
#include "supervisor/requests.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/control.h"
#include "supervisor/requests_internal.h"
#include "supervisor/sandbox.h"

enum waits_for {
	WAITS_FOR_NOTHING,
	WAITS_FOR_RUNNING, /* `wait` */
	WAITS_FOR_EXEC,    /* `exec`, until sessions may be opened */
	WAITS_FOR_START,   /* `exec`, until the guest has started it */
	WAITS_FOR_GONE,    /* `stop` */
	WAITS_FOR_STATS,
	WAITS_FOR_SAVED, /* `checkpoint` */
};

enum {
	STOP_TIMEOUT_MS = 10000,
	STOP_TIMEOUT_MAX_MS = 3600 * 1000,
};

static struct sandbox *sandbox_of(const struct client *client)
{
	return client->clients->ctx;
}

static void refuse(struct client *client, int code, const char *text)
{
	client_answer(client, control_failure(code, text));
}

static void refuse_gone(struct client *client, const struct sandbox *sandbox)
{
	refuse(client, ESHUTDOWN,
	       sandbox->reason[0] ? sandbox->reason
				  : "the sandbox was stopped");
}

/* Only `op` and the keys of the format; false: the client was told. */
static bool no_other_keys(struct client *client, json_t *json)
{
	const char *op;

	if (json_unpack(json, "{s:s!}", "op", &op) == 0)
		return true;
	refuse(client, EINVAL, "this request takes no other keys");
	return false;
}

/* A warning is for whoever comes first: a command that waits for a start. */
static json_t *ok_with_warning(struct sandbox *sandbox)
{
	json_t *answer = control_ok();

	if (sandbox->warning[0])
		json_object_set_new(answer, "warning",
				    json_string(sandbox->warning));
	sandbox->warning[0] = '\0';
	return answer;
}

static json_t *session_json(const struct session *session)
{
	return json_pack("{s:I, s:I, s:O, s:b, s:b, s:I, s:I}", "session",
			 (json_int_t)session->id, "pid",
			 (json_int_t)session->pid, "argv", session->argv, "tty",
			 session->tty, "main", session->main, "clients",
			 (json_int_t)session->client_count, "started",
			 (json_int_t)session->started);
}

static void handle_status(struct client *client, json_t *json)
{
	struct sandbox *sandbox = sandbox_of(client);
	json_t *sessions, *answer = control_ok();

	if (!no_other_keys(client, json)) {
		json_decref(answer);
		return;
	}
	sessions = json_array();
	LIST_FOR_EACH(node, &sandbox->sessions.all) {
		json_array_append_new(
			sessions,
			session_json(LIST_ENTRY(node, struct session, link)));
	}
	json_object_set_new(
		answer, "state",
		json_string(sandbox_status_name(sandbox->saved.status)));
	json_object_set_new(answer, "accel", json_string(sandbox->saved.accel));
	json_object_set_new(answer, "reason", json_string(sandbox->reason));
	json_object_set_new(answer, "qemu_pid",
			    json_integer(sandbox->qemu.child.pid));
	json_object_set_new(answer, "supervisor_pid", json_integer(getpid()));
	json_object_set_new(answer, "sessions", sessions);
	json_object_set_new(answer, "phases", phases_json(&sandbox->phases));
	client_answer(client, answer);
}

static void handle_wait(struct client *client, json_t *json)
{
	struct sandbox *sandbox = sandbox_of(client);

	if (!no_other_keys(client, json))
		return;
	client->waits_for = WAITS_FOR_RUNNING;
	requests_life_changed(sandbox);
}

static void start_session(struct client *client)
{
	struct sandbox *sandbox = sandbox_of(client);
	struct session_request request;
	struct error err;

	if (requests_parse_exec(client->request, &request, &err) < 0) {
		refuse(client, EINVAL, err.text);
		return;
	}
	client->waits_for = WAITS_FOR_START;
	if (session_start(&sandbox->sessions, &request, client, &err) < 0)
		refuse(client, err.code, err.text);
}

static void handle_exec(struct client *client, json_t *json)
{
	struct session_request request;
	struct error err;

	if (requests_parse_exec(json, &request, &err) < 0) {
		refuse(client, EINVAL, err.text);
		return;
	}
	client->request = json_incref(json);
	client->waits_for = WAITS_FOR_EXEC;
	requests_life_changed(sandbox_of(client));
}

void requests_session_started(struct sandbox *sandbox, struct session *session,
			      struct client *opener,
			      const struct message_session_started *reply)
{
	json_t *answer;

	if (!opener)
		return;
	if (!reply->pid) {
		answer = control_failure((int)reply->error,
					 requests_stage_text(reply));
		json_object_set_new(
			answer, "stage",
			json_string(requests_stage_name(reply->stage)));
		client_answer(opener, answer);
		return;
	}
	answer = ok_with_warning(sandbox);
	json_object_set_new(answer, "session", json_integer(session->id));
	json_object_set_new(answer, "pid", json_integer(session->pid));
	if (session->detach) {
		client_answer(opener, answer);
		return;
	}
	opener->opened_session = true;
	client_answer_session(opener, answer);
	session_join(session, opener);
	session_pump(session);
}

static void handle_attach(struct client *client, json_t *json)
{
	struct sandbox *sandbox = sandbox_of(client);
	struct session *session = sessions_main(&sandbox->sessions);
	int rows = 0, cols = 0;
	json_t *answer;
	const char *op;

	if (json_unpack(json, "{s:s, s?i, s?i !}", "op", &op, "rows", &rows,
			"cols", &cols) < 0 ||
	    rows < 0 || rows > UINT16_MAX || cols < 0 || cols > UINT16_MAX) {
		refuse(client, EINVAL, "attach takes rows and cols");
		return;
	}
	if (!session || !session->pid) {
		refuse(client, ENOENT, "the agent's session has ended");
		return;
	}
	answer = control_ok();
	json_object_set_new(answer, "session", json_integer(session->id));
	json_object_set_new(answer, "pid", json_integer(session->pid));
	client_answer_session(client, answer);
	session_resize(session, (uint16_t)rows, (uint16_t)cols);
	session_join(session, client);
}

static void handle_kill(struct client *client, json_t *json)
{
	struct sandbox *sandbox = sandbox_of(client);
	struct session *session;
	json_int_t id;
	struct error err;
	const char *op;

	if (json_unpack(json, "{s:s, s:I !}", "op", &op, "session", &id) < 0) {
		refuse(client, EINVAL, "kill takes the number of a session");
		return;
	}
	session = id > 0 && id <= UINT32_MAX
			  ? sessions_find(&sandbox->sessions, (uint32_t)id)
			  : NULL;
	if (!session)
		refuse(client, ESRCH, "no such session");
	else if (session_kill(session, &err) < 0)
		refuse(client, err.code, err.text);
	else
		client_answer(client, control_ok());
}

static void handle_stop(struct client *client, json_t *json)
{
	struct sandbox *sandbox = sandbox_of(client);
	json_int_t timeout_ms = STOP_TIMEOUT_MS;
	int power_off = 1;
	struct error err;
	const char *op;

	if (json_unpack(json, "{s:s, s?b, s?I !}", "op", &op, "power_off",
			&power_off, "timeout_ms", &timeout_ms) < 0 ||
	    timeout_ms < 0 || timeout_ms > STOP_TIMEOUT_MAX_MS) {
		refuse(client, EINVAL, "stop takes power_off and timeout_ms");
		return;
	}
	client->waits_for = WAITS_FOR_GONE;
	/* Only what runs has a memory that is worth keeping. */
	if (power_off || sandbox->spec->remove_at_end ||
	    sandbox->life != SANDBOX_RUNNING)
		sandbox_stop(sandbox, (uint64_t)timeout_ms);
	else if (saving_begin(sandbox, SAVING_SUSPEND, &err) < 0)
		refuse(client, err.code, err.text);
}

static void handle_checkpoint(struct client *client, json_t *json)
{
	struct error err;
	const char *op;
	int memory = 1, at_once = 0;

	if (json_unpack(json, "{s:s, s?b, s?b !}", "op", &op, "memory", &memory,
			"at_once", &at_once) < 0) {
		refuse(client, EINVAL, "checkpoint takes memory and at_once");
		return;
	}
	client->waits_for = WAITS_FOR_SAVED;
	if (saving_begin(sandbox_of(client),
			 !memory   ? SAVING_DISK
			 : at_once ? SAVING_CHECKPOINT_AT_ONCE
				   : SAVING_CHECKPOINT,
			 &err) < 0)
		refuse(client, err.code, err.text);
}

void requests_went_on(struct sandbox *sandbox)
{
	LIST_FOR_EACH(node, &sandbox->clients.all) {
		struct client *client = LIST_ENTRY(node, struct client, link);

		if (client->waits_for == WAITS_FOR_SAVED)
			client_progress(client,
					json_pack("{s:s, s:f}", "progress",
						  "running", "pause_ms",
						  sandbox->saving.pause_ms));
	}
}

void requests_saved(struct sandbox *sandbox, const char *why)
{
	LIST_FOR_EACH(node, &sandbox->clients.all) {
		struct client *client = LIST_ENTRY(node, struct client, link);
		bool waits = client->waits_for == WAITS_FOR_SAVED ||
			     (why && client->waits_for == WAITS_FOR_GONE &&
			      sandbox->life == SANDBOX_RUNNING);

		if (waits && why)
			refuse(client, EIO, why);
		else if (waits)
			client_answer(client, requests_saved_json(sandbox));
	}
}

static void handle_stats(struct client *client, json_t *json)
{
	struct sandbox *sandbox = sandbox_of(client);
	struct message message = { .type = MESSAGE_STATS };
	struct error err;

	if (!no_other_keys(client, json))
		return;
	if (sandbox->life != SANDBOX_RUNNING) {
		refuse(client, EAGAIN, "the sandbox is not running");
		return;
	}
	client->waits_for = WAITS_FOR_STATS;
	if (guest_link_send(&sandbox->guest, &message, &err) < 0)
		refuse(client, err.code, err.text);
}

void requests_stats_arrived(struct sandbox *sandbox)
{
	LIST_FOR_EACH(node, &sandbox->clients.all) {
		struct client *client = LIST_ENTRY(node, struct client, link);

		if (client->waits_for == WAITS_FOR_STATS)
			client_answer(client,
				      requests_stats_json(&sandbox->stats));
	}
}

static void life_changed_for(struct sandbox *sandbox, struct client *client)
{
	bool gone = sandbox->life == SANDBOX_GONE;

	switch (client->waits_for) {
	case WAITS_FOR_RUNNING:
		if (gone && sandbox->image_made)
			client_answer(client, requests_image_json(sandbox));
		else if (gone)
			refuse_gone(client, sandbox);
		else if (sandbox->life == SANDBOX_RUNNING)
			client_answer(client, ok_with_warning(sandbox));
		break;
	case WAITS_FOR_EXEC:
		if (gone || sandbox->life == SANDBOX_STOPPING)
			refuse_gone(client, sandbox);
		else if (sandbox_accepts_sessions(sandbox))
			start_session(client);
		break;
	case WAITS_FOR_GONE:
		if (gone)
			client_answer(client, control_ok());
		break;
	case WAITS_FOR_START:
	case WAITS_FOR_STATS:
		if (gone)
			refuse_gone(client, sandbox);
		break;
	default:
		break;
	}
}

void requests_life_changed(struct sandbox *sandbox)
{
	LIST_FOR_EACH(node, &sandbox->clients.all) {
		life_changed_for(sandbox,
				 LIST_ENTRY(node, struct client, link));
	}
}

static const struct {
	const char *op;
	void (*handle)(struct client *client, json_t *json);
} requests[] = {
	{ "status", handle_status }, { "wait", handle_wait },
	{ "exec", handle_exec },     { "attach", handle_attach },
	{ "kill", handle_kill },     { "stop", handle_stop },
	{ "stats", handle_stats },   { "checkpoint", handle_checkpoint },
};

static void on_request(struct client *client, json_t *json)
{
	const char *op = json_string_value(json_object_get(json, "op"));

	for (size_t i = 0; op && i < ARRAY_SIZE(requests); i++) {
		if (strcmp(requests[i].op, op) == 0) {
			requests[i].handle(client, json);
			return;
		}
	}
	refuse(client, ENOSYS, "unknown request");
}

static void on_stdin(struct client *client)
{
	if (client->session)
		session_stdin(client->session, client);
}

static void on_resize(struct client *client, uint16_t rows, uint16_t cols)
{
	if (client->session)
		session_resize(client->session, rows, cols);
}

static void on_signal(struct client *client, uint32_t signal)
{
	if (client->session)
		session_signal(client->session, signal);
}

static void on_room(struct client *client)
{
	if (client->session)
		session_pump(client->session);
}

static void on_gone(struct client *client, bool detached)
{
	struct sandbox *sandbox = sandbox_of(client);

	if (client->session)
		session_leave(client->session, client, detached);
	/* An image that nobody waits for would be thrown away. */
	if (sandbox->spec->goal == START_MAKE_WARM)
		sandbox_fail(sandbox, "nobody waits for the image any more");
}

const struct clients_ops requests_ops = {
	.on_request = on_request,
	.on_stdin = on_stdin,
	.on_resize = on_resize,
	.on_signal = on_signal,
	.on_room = on_room,
	.on_gone = on_gone,
};
