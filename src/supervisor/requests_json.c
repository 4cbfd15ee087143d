/* SPDX-License-Identifier: Apache-2.0 */
/*
 * requests_json.c - requests taken apart, answers put together
 */
#include "supervisor/requests.h"

#include <string.h>

#include "base/error.h"
#include "base/own.h"
#include "base/text.h"
#include "ipc/control.h"
#include "supervisor/requests_internal.h"
#include "supervisor/sandbox.h"

static int check_strings(json_t *array, bool assignments, struct error *err)
{
	size_t i;
	json_t *item;

	if (!json_is_array(array) || json_array_size(array) > MESSAGE_ARGS_MAX)
		return error_set(err, 0, "%s: not a list of strings",
				 assignments ? "env" : "argv");
	json_array_foreach(array, i, item)
	{
		const char *text = json_string_value(item);

		if (!text || strlen(text) != json_string_length(item))
			return error_set(err, 0, "%s: not a string",
					 assignments ? "env" : "argv");
		if (assignments && (!strchr(text, '=') || text[0] == '='))
			return error_set(err, 0, "env: not NAME=VALUE");
	}
	return 0;
}

int requests_parse_exec(json_t *json, struct session_request *request,
			struct error *err)
{
	static json_t *nothing; /* shared and never freed: an empty list */
	int tty = 0, has_stdin = 0, detach = 0, is_main = 0, make_folder = 0;
	int rows = 0, cols = 0;
	json_error_t where;
	const char *op;

	if (!nothing)
		nothing = json_array();
	*request = (struct session_request){ .env = nothing,
					     .folder = "",
					     .user = "" };
	if (json_unpack_ex(json, &where, 0,
			   "{s:s, s:o, s?o, s?s, s?s, s?b, s?i, s?i, s?b, "
			   "s?b, s?b, s?b !}",
			   "op", &op, "argv", &request->argv, "env",
			   &request->env, "folder", &request->folder, "user",
			   &request->user, "tty", &tty, "rows", &rows, "cols",
			   &cols, "stdin", &has_stdin, "detach", &detach,
			   "main", &is_main, "make_folder", &make_folder) < 0)
		return error_set(err, 0, "exec: %s", where.text);
	if (rows < 0 || rows > UINT16_MAX || cols < 0 || cols > UINT16_MAX)
		return error_set(err, 0, "exec: rows and cols are 16-bit");
	if (check_strings(request->argv, false, err) < 0 ||
	    check_strings(request->env, true, err) < 0)
		return error_prefix(err, "exec");
	if (json_array_size(request->argv) == 0)
		return error_set(err, 0, "exec: argv is empty");
	request->tty = tty;
	request->has_stdin = has_stdin && !detach;
	request->detach = detach;
	request->main = is_main;
	request->make_folder = make_folder;
	request->rows = (uint16_t)rows;
	request->cols = (uint16_t)cols;
	return 0;
}

const char *requests_stage_name(uint32_t stage)
{
	static const char *const names[] = {
		[SESSION_STAGE_OK] = "other",
		[SESSION_STAGE_USER] = "user",
		[SESSION_STAGE_FOLDER] = "folder",
		[SESSION_STAGE_EXEC] = "exec",
		[SESSION_STAGE_OTHER] = "other",
	};

	return stage < ARRAY_SIZE(names) ? names[stage] : "other";
}

const char *requests_stage_text(const struct message_session_started *reply)
{
	static char text[128];
	const char *what = "cannot start the process";

	switch (reply->stage) {
	case SESSION_STAGE_USER:
		what = "no such user in the sandbox";
		break;
	case SESSION_STAGE_FOLDER:
		what = "cannot enter the working folder";
		break;
	case SESSION_STAGE_EXEC:
		what = "cannot execute the command";
		break;
	default:
		break;
	}
	if (reply->error > 0 && reply->error < 4096)
		text_format(text, sizeof(text), "%s: %s", what,
			    strerror((int)reply->error));
	else
		text_copy(text, sizeof(text), what);
	return text;
}

json_t *requests_stats_json(const struct message_stats *stats)
{
	json_t *answer = control_ok();

	json_object_set_new(
		answer, "memory_total_bytes",
		json_integer((json_int_t)stats->memory_total_bytes));
	json_object_set_new(
		answer, "memory_available_bytes",
		json_integer((json_int_t)stats->memory_available_bytes));
	json_object_set_new(answer, "disk_total_bytes",
			    json_integer((json_int_t)stats->disk_total_bytes));
	json_object_set_new(answer, "disk_free_bytes",
			    json_integer((json_int_t)stats->disk_free_bytes));
	json_object_set_new(answer, "cpu_busy_ms",
			    json_integer((json_int_t)stats->cpu_busy_ms));
	json_object_set_new(answer, "processes",
			    json_integer((json_int_t)stats->processes));
	return answer;
}

json_t *requests_saved_json(const struct sandbox *sandbox)
{
	char marker[2 * MUX_MARKER_BYTES + 1];
	json_t *answer = control_ok();

	text_hex(sandbox->marker, sizeof(sandbox->marker), marker);
	json_object_set_new(answer, "marker", json_string(marker));
	json_object_set_new(answer, "pause_ms",
			    json_real(sandbox->saving.pause_ms));
	return answer;
}

json_t *requests_image_json(const struct sandbox *sandbox)
{
	char marker[2 * MUX_MARKER_BYTES + 1];
	json_t *answer = control_ok();

	text_hex(sandbox->marker, sizeof(sandbox->marker), marker);
	json_object_set_new(answer, "marker", json_string(marker));
	json_object_set_new(answer, "phases", phases_json(&sandbox->phases));
	return answer;
}
