/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_state.c - what is kept about a run of the loop
 */
#include "loop/run_state.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

#define VERSION 1

AUTO_DEFINE(json, json_t *, json_decref)

static const struct {
	const char *name;
	int exit_code;
} statuses[] = {
	[RUN_RUNNING] = { "running", 0 },
	[RUN_COMPLETE] = { "complete", 0 },
	[RUN_LIMIT] = { "limit", 1 },
	[RUN_BLOCKED] = { "blocked", 2 },
	[RUN_DECIDE] = { "decide", 3 },
	[RUN_FAILED] = { "failed", 4 },
	[RUN_AUTH] = { "auth", 5 },
	[RUN_MISSING] = { "missing", 6 },
	[RUN_INTERRUPTED] = { "interrupted", 130 },
};
static_assert(ARRAY_SIZE(statuses) == RUN_STATUSES, "each status has a row");

int run_status_exit(enum run_status status)
{
	return statuses[status].exit_code;
}

const char *run_status_name(enum run_status status)
{
	return statuses[status].name;
}

void run_state_release(struct run_state *state)
{
	free(state->name);
	free(state->agent);
	free(state->model);
	free(state->workspace);
	free(state->prompt);
	*state = RUN_STATE_INIT;
}

void run_boot_id(char out[40])
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(64);
	AUTO_CLOSE int fd =
		open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);

	out[0] = '\0';
	if (fd < 0 || fileio_read_fd(fd, &text, NULL) < 0 || text.len < 36)
		return;
	text_printable((const char *)text.data, 36, out, 40);
}

/* RFC 3339, or null. */
static json_t *time_of(int64_t seconds)
{
	time_t when = (time_t)seconds;
	char text[32];
	struct tm tm;

	if (!seconds || !gmtime_r(&when, &tm) ||
	    !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
		return json_null();
	return json_string(text);
}

static int64_t time_from(const json_t *value)
{
	struct tm tm = { 0 };
	const char *text = json_string_value(value);
	const char *end =
		text ? strptime(text, "%Y-%m-%dT%H:%M:%SZ", &tm) : NULL;

	return end && !*end ? (int64_t)timegm(&tm) : 0;
}

json_t *run_state_encode(const struct run_state *state)
{
	const struct breaker *breaker = &state->breaker;
	json_t *json = json_pack(
		"{s:i, s:b, s:s, s:s, s:s, s:s, s:s?, s:s, s:s}", "version",
		VERSION, "active", state->status == RUN_RUNNING, "status",
		run_status_name(state->status), "detail", state->detail, "name",
		state->name, "agent", state->agent, "model", state->model,
		"workspace", state->workspace, "prompt", state->prompt);

	if (!json)
		return NULL;
	json_object_update_new(
		json,
		json_pack("{s:i, s:i, s:i, s:s, s:s, s:b, s:o, s:o, s:o, s:i, "
			  "s:s}",
			  "iteration", (int)state->iteration, "maxIterations",
			  (int)state->max_iterations, "minIterations",
			  (int)state->min_iterations, "completionPromise",
			  state->complete_word, "taskPromise", state->task_word,
			  "tasksMode", state->tasks_mode, "startedAt",
			  time_of(state->started), "heartbeatAt",
			  time_of(state->heartbeat), "endedAt",
			  time_of(state->ended), "pid", (int)state->pid,
			  "bootId", state->boot_id));
	json_object_update_new(
		json,
		json_pack("{s:I, s:I, s:f, s:f, s:i, s:{s:i, s:i, s:i, s:I}}",
			  "tokensIn", (json_int_t)state->tokens_in, "tokensOut",
			  (json_int_t)state->tokens_out, "costUsd",
			  (double)state->cost_micros / 1e6, "agentSeconds",
			  state->agent_seconds, "waits", (int)state->waits,
			  "breaker", "idle", (int)breaker->idle, "brief",
			  (int)breaker->brief, "sameError",
			  (int)breaker->same_error, "signature",
			  (json_int_t)breaker->signature));
	return json;
}

static unsigned small_number(const json_t *json, const char *key)
{
	json_int_t value = json_integer_value(json_object_get(json, key));

	return value > 0 && value < 1000000000 ? (unsigned)value : 0;
}

static char *copy_of(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? xstrdup(text) : NULL;
}

static void copy_to(const json_t *json, const char *key, char *out, size_t size)
{
	const char *text = json_string_value(json_object_get(json, key));

	(void)text_copy(out, size, text ? text : "");
}

static int decode_status(const json_t *json, struct run_state *state)
{
	const char *name = json_string_value(json_object_get(json, "status"));

	for (size_t i = 0; name && i < ARRAY_SIZE(statuses); i++)
		if (!strcmp(name, statuses[i].name)) {
			state->status = (enum run_status)i;
			return 0;
		}
	return -1;
}

static void decode_numbers(const json_t *json, struct run_state *state)
{
	const json_t *breaker = json_object_get(json, "breaker");
	double cost = json_number_value(json_object_get(json, "costUsd"));

	state->iteration = small_number(json, "iteration");
	state->max_iterations = small_number(json, "maxIterations");
	state->min_iterations = small_number(json, "minIterations");
	state->pid = (pid_t)small_number(json, "pid");
	state->waits = small_number(json, "waits");
	state->tokens_in =
		(uint64_t)json_integer_value(json_object_get(json, "tokensIn"));
	state->tokens_out = (uint64_t)json_integer_value(
		json_object_get(json, "tokensOut"));
	if (cost > 0 && cost < 1e9)
		state->cost_micros = (uint64_t)(cost * 1e6 + 0.5);
	state->agent_seconds =
		json_number_value(json_object_get(json, "agentSeconds"));
	state->breaker = (struct breaker){
		.idle = small_number(breaker, "idle"),
		.brief = small_number(breaker, "brief"),
		.same_error = small_number(breaker, "sameError"),
		.signature = (uint64_t)json_integer_value(
			json_object_get(breaker, "signature")),
	};
}

int run_state_decode(const json_t *json, struct run_state *state,
		     struct error *err)
{
	*state = RUN_STATE_INIT;
	if (json_integer_value(json_object_get(json, "version")) != VERSION ||
	    decode_status(json, state) < 0)
		return error_set(err, 0,
				 "the state of the loop is of another "
				 "version");
	state->name = copy_of(json, "name");
	state->agent = copy_of(json, "agent");
	state->model = copy_of(json, "model");
	state->workspace = copy_of(json, "workspace");
	state->prompt = copy_of(json, "prompt");
	if (!state->name || !state->agent || !state->workspace ||
	    !state->prompt) {
		run_state_release(state);
		return error_set(err, 0, "the state of the loop is damaged");
	}
	copy_to(json, "detail", state->detail, sizeof(state->detail));
	copy_to(json, "completionPromise", state->complete_word,
		sizeof(state->complete_word));
	copy_to(json, "taskPromise", state->task_word,
		sizeof(state->task_word));
	copy_to(json, "bootId", state->boot_id, sizeof(state->boot_id));
	state->tasks_mode = json_is_true(json_object_get(json, "tasksMode"));
	state->started = time_from(json_object_get(json, "startedAt"));
	state->heartbeat = time_from(json_object_get(json, "heartbeatAt"));
	state->ended = time_from(json_object_get(json, "endedAt"));
	decode_numbers(json, state);
	return 0;
}

int run_state_save(int folder, const struct run_state *state, struct error *err)
{
	AUTO(json) json_t *json = run_state_encode(state);
	AUTO_FREE char *text = json ? json_dumps(json, JSON_INDENT(2)) : NULL;

	if (!text)
		return error_set(err, 0, "the prompt is no UTF-8");
	return fileio_replace(folder, RUN_STATE_FILE, text, strlen(text), 0600,
			      0, err);
}

int run_state_load(int folder, struct run_state *state, struct error *err)
{
	AUTO_BUFFER struct buffer text = BUFFER_INIT(RUN_STATE_BYTES_MAX);
	AUTO(json) json_t *json = NULL;
	struct error local = { 0 };

	if (fileio_read(folder, RUN_STATE_FILE, &text, &local) < 0) {
		if (local.code == ENOENT)
			return 0;
		return error_set(err, 0, "%s", local.text);
	}
	json = json_loadb((const char *)text.data, text.len,
			  JSON_REJECT_DUPLICATES, NULL);
	if (!json)
		return error_set(err, 0, "the state of the loop is damaged");
	return run_state_decode(json, state, err) < 0 ? -1 : 1;
}
