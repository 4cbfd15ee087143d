/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_history.c - the records of the turns of a run
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "loop/run_state.h"

AUTO_DEFINE(json, json_t *, json_decref)

int run_history_append(int folder, const json_t *record, struct error *err)
{
	AUTO_CLOSE int fd = openat(
		folder, RUN_STATE_HISTORY,
		O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	AUTO_FREE char *text = json_dumps(record, JSON_COMPACT);
	AUTO_BUFFER struct buffer line = BUFFER_INIT(RUN_STATE_BYTES_MAX);

	if (fd < 0)
		return error_set(err, errno, RUN_STATE_HISTORY);
	if (!text || buffer_printf(&line, "%s\n", text) < 0)
		return error_set(err, 0, "a record of the loop is too long");
	return fileio_write_all(fd, line.data, line.len, err);
}

json_t *run_history_load(int folder, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(RUN_HISTORY_BYTES_MAX);
	AUTO(json) json_t *list = json_array();
	struct error local = { 0 };
	const char *at, *end;

	if (fileio_read(folder, RUN_STATE_HISTORY, &text, &local) < 0) {
		if (local.code == ENOENT)
			return json_incref(list);
		error_set(err, 0, "%s", local.text);
		return NULL;
	}
	at = (const char *)text.data;
	end = at + text.len;
	while (at < end) {
		const char *feed = memchr(at, '\n', (size_t)(end - at));
		json_t *record;

		/* the last one of a loop that was killed may be cut */
		if (!feed)
			break;
		record = json_loadb(at, (size_t)(feed - at), 0, NULL);
		if (json_is_object(record))
			json_array_append(list, record);
		json_decref(record);
		at = feed + 1;
	}
	return json_incref(list);
}

int run_history_clear(int folder, struct error *err)
{
	if (unlinkat(folder, RUN_STATE_HISTORY, 0) < 0 && errno != ENOENT)
		return error_set(err, errno, RUN_STATE_HISTORY);
	return 0;
}

static json_t *view_of(const struct run_state *state, const json_t *record)
{
	const json_t *error = json_object_get(record, "error");
	const char *said = json_string_value(error);
	const char *promise =
		json_string_value(json_object_get(record, "promise"));
	json_t *errors = json_array();

	if (said && said[0])
		json_array_append_new(errors, json_string(said));
	return json_pack(
		"{s:O?, s:O?, s:I, s:s, s:O?, s:O?, s:b, s:o}", "iteration",
		json_object_get(record, "iteration"), "startedAt",
		json_object_get(record, "started"), "durationMs",
		(json_int_t)(json_number_value(
				     json_object_get(record, "seconds")) *
			     1000),
		"agent", state->agent, "filesModified",
		json_object_get(record, "files"), "exitCode",
		json_object_get(record, "exit_code"), "completionDetected",
		promise && !strcmp(promise, "complete"), "errors", errors);
}

json_t *run_history_view(const struct run_state *state, const json_t *records)
{
	const struct breaker *breaker = &state->breaker;
	json_t *list = json_array(), *record;
	size_t i;

	json_array_foreach((json_t *)(uintptr_t)records, i, record)
		json_array_append_new(list, view_of(state, record));
	return json_pack(
		"{s:o, s:I, s:{s:i, s:i, s:i}}", "iterations", list,
		"totalDurationMs", (json_int_t)(state->agent_seconds * 1000),
		"struggleIndicators", "noProgressIterations",
		(int)breaker->idle, "shortIterations", (int)breaker->brief,
		"repeatedErrors", (int)breaker->same_error);
}
