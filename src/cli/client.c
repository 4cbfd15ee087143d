/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.c - a session: the requests that open one
 */
#include "cli/client.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "cli/print.h"
#include "cli/relay.h"
#include "cli/terminal.h"
#include "ipc/control.h"

AUTO_DEFINE(json, json_t *, json_decref)

static int add_strings(json_t *object, const char *key,
		       const char *const *texts, struct error *err)
{
	json_t *list = json_array();

	for (; texts && *texts; texts++)
		if (json_array_append_new(list, json_string(*texts)) < 0) {
			json_decref(list);
			return error_set(
				err, EILSEQ,
				"an argument or variable is not UTF-8");
		}
	json_object_set_new(object, key, list);
	return 0;
}

static json_t *exec_message(const struct client_request *request,
			    struct error *err)
{
	AUTO(json) json_t *message = NULL;
	uint16_t rows, cols;

	terminal_size(isatty(1) ? 1 : 0, &rows, &cols);
	message = json_pack("{s:s, s:s, s:s, s:b, s:i, s:i, s:b, s:b, s:b}",
			    "op", "exec", "folder", request->folder, "user",
			    request->user, "tty", request->tty, "rows", rows,
			    "cols", cols, "stdin", request->forward_stdin,
			    "detach", request->detach, "main", request->main);
	if (!message) {
		error_set(err, EILSEQ, "the folder or user is not UTF-8");
		return NULL;
	}
	/* unknown to older supervisors: only where it is needed */
	if (request->make_folder)
		json_object_set_new(message, "make_folder", json_true());
	if (add_strings(message, "argv", request->argv, err) < 0 ||
	    add_strings(message, "env", (const char *const *)request->env,
			err) < 0)
		return NULL;
	return json_incref(message);
}

/* As control_call(), but keeps the stage of a session that did not start. */
static json_t *call(struct control_client *control, json_t *message,
		    struct client_refusal *refusal, struct error *err)
{
	json_t *answer;
	const char *text;
	char safe[sizeof(err->text)];

	if (control_send(control, message, err) < 0)
		return NULL;
	for (;;) {
		answer = control_receive(control, err);
		if (!answer || json_object_get(answer, "ok"))
			break;
		json_decref(answer);
	}
	if (!answer || json_is_true(json_object_get(answer, "ok")))
		return answer;
	text = json_string_value(json_object_get(answer, "stage"));
	if (refusal && text)
		text_copy(refusal->stage, sizeof(refusal->stage), text);
	text = json_string_value(json_object_get(answer, "error"));
	text_printable(text ? text : "refused", text ? strlen(text) : 7, safe,
		       sizeof(safe));
	error_set(err, 0, "%s", safe);
	err->code = (int)json_integer_value(json_object_get(answer, "code"));
	json_decref(answer);
	return NULL;
}

static void let_go(int *fd)
{
	if (fd && *fd >= 0)
		close(TAKE_FD(*fd));
}

int client_open(struct control_client *control,
		const struct client_request *request,
		struct client_refusal *refusal, struct error *err)
{
	AUTO(json) json_t *answer = NULL;
	json_t *message;

	if (refusal)
		*refusal = (struct client_refusal){ "" };
	message = exec_message(request, err);
	if (!message)
		return -1;
	answer = call(control, message, refusal, err);
	/* the supervisor lives and says so: others may connect to it now */
	let_go(request->lock);
	let_go(request->turn);
	print_warning_of(answer);
	return answer ? 0 : -1;
}

int client_exec(struct control_client *control,
		const struct client_request *request,
		struct client_result *result, struct client_refusal *refusal,
		struct error *err)
{
	struct relay_setup setup = { .control = control,
				     .tty = request->tty,
				     .forward_stdin = request->forward_stdin,
				     .may_detach = request->main,
				     .filter = request->filter,
				     .ask = request->ask };

	*result = (struct client_result){ .end = CLIENT_EXITED };
	if (client_open(control, request, refusal, err) < 0)
		return -1;
	if (request->detach) {
		result->end = CLIENT_DETACHED;
		return 0;
	}
	return relay_run(&setup, result, err);
}

int client_join(struct control_client *control, struct error *err)
{
	AUTO(json) json_t *answer = NULL;
	uint16_t rows, cols;

	terminal_size(isatty(1) ? 1 : 0, &rows, &cols);
	answer = call(control,
		      json_pack("{s:s, s:i, s:i}", "op", "attach", "rows", rows,
				"cols", cols),
		      NULL, err);
	return answer ? 0 : -1;
}

int client_attach(struct control_client *control, struct relay_ask *ask,
		  struct client_result *result, struct error *err)
{
	struct relay_setup setup = { .control = control,
				     .tty = true,
				     .forward_stdin = true,
				     .may_detach = true,
				     .ask = ask };

	if (client_join(control, err) < 0)
		return -1;
	return relay_run(&setup, result, err);
}
