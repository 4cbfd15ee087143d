/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_run_state.c - unit tests of loop/run_state.h
 */
#include "loop/run_state.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/error.h"
#include "lib/tap.h"

static char folder_path[] = "/tmp/bawn-test-XXXXXX";
static int folder = -1;

static void fill(struct run_state *state)
{
	*state = (struct run_state){ .name = strdup("n"),
				     .agent = strdup("claude"),
				     .workspace = strdup("/w"),
				     .prompt = strdup("p"),
				     .status = RUN_DECIDE,
				     .detail = "which?",
				     .iteration = 3,
				     .max_iterations = 30,
				     .complete_word = "COMPLETE",
				     .started = 1700000000,
				     .pid = 42,
				     .boot_id = "b",
				     .tokens_in = 5,
				     .cost_micros = 1234567,
				     .breaker = { .idle = 2,
						  .same_error = 1,
						  .signature = UINT64_MAX } };
}

static void what_is_saved_is_loaded(void)
{
	struct run_state state, loaded = RUN_STATE_INIT;

	fill(&state);
	CHECK(run_state_load(folder, &loaded, NULL) == 0);
	CHECK(run_state_save(folder, &state, NULL) == 0);
	REQUIRE(run_state_load(folder, &loaded, NULL) == 1);
	CHECK(!strcmp(loaded.prompt, "p") && loaded.status == RUN_DECIDE);
	CHECK(!strcmp(loaded.detail, "which?") && !loaded.model);
	CHECK(loaded.iteration == 3 && loaded.cost_micros == 1234567);
	CHECK(loaded.started == 1700000000 && loaded.pid == 42);
	CHECK(loaded.breaker.signature == UINT64_MAX);
	run_state_release(&state);
	run_state_release(&loaded);
}

static void damage_is_an_error(void)
{
	struct run_state loaded;
	json_t *json = json_pack("{s:i, s:s}", "version", 1, "status", "limit");

	CHECK(run_state_decode(json, &loaded, NULL) < 0);
	json_object_set_new(json, "status", json_string("odd"));
	CHECK(run_state_decode(json, &loaded, NULL) < 0);
	json_decref(json);
}

static void history_survives_a_cut_line(void)
{
	json_t *record =
		json_pack("{s:i, s:s}", "iteration", 1, "promise", "complete");
	json_t *list, *view;
	struct run_state state;
	int fd;

	CHECK(run_history_append(folder, record, NULL) == 0);
	CHECK(run_history_append(folder, record, NULL) == 0);
	fd = openat(folder, RUN_STATE_HISTORY, O_WRONLY | O_APPEND);
	CHECK(write(fd, "{\"iter", 6) == 6);
	close(fd);
	list = run_history_load(folder, NULL);
	CHECK(json_array_size(list) == 2);
	fill(&state);
	view = run_history_view(&state, list);
	CHECK(json_array_size(json_object_get(view, "iterations")) == 2);
	CHECK(json_is_true(json_object_get(
		json_array_get(json_object_get(view, "iterations"), 0),
		"completionDetected")));
	json_decref(view);
	json_decref(list);
	json_decref(record);
	run_state_release(&state);
	CHECK(run_history_clear(folder, NULL) == 0);
	list = run_history_load(folder, NULL);
	CHECK(json_array_size(list) == 0);
	json_decref(list);
}

static void exit_codes_are_as_written(void)
{
	CHECK(run_status_exit(RUN_COMPLETE) == 0);
	CHECK(run_status_exit(RUN_LIMIT) == 1);
	CHECK(run_status_exit(RUN_BLOCKED) == 2);
	CHECK(run_status_exit(RUN_DECIDE) == 3);
	CHECK(run_status_exit(RUN_FAILED) == 4);
	CHECK(run_status_exit(RUN_AUTH) == 5);
	CHECK(run_status_exit(RUN_MISSING) == 6);
	CHECK(run_status_exit(RUN_INTERRUPTED) == 130);
}

int main(void)
{
	if (!mkdtemp(folder_path))
		return 1;
	folder = open(folder_path, O_RDONLY | O_DIRECTORY);
	RUN(what_is_saved_is_loaded);
	RUN(damage_is_an_error);
	RUN(history_survives_a_cut_line);
	RUN(exit_codes_are_as_written);
	unlinkat(folder, RUN_STATE_FILE, 0);
	close(folder);
	rmdir(folder_path);
	return DONE();
}
