/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine_internal.h - what the engine knows during a run
 */
#pragma once

#include "base/buffer.h"
#include "loop/engine.h"
#include "loop/fault.h"

#define PACE_MAX 1024
#define FEEDBACK_MAX (16 * 1024)

struct run {
	struct engine *engine;
	bool over;
	bool saved;             /* as it is now, but for the heartbeat */
	struct task_list tasks; /* owned */
	const char *tasks_file;
	char tasks_bad[512];   /* why they cannot be read; "" */
	struct buffer context; /* the user's, for the next turn that counts */
	char feedback[FEEDBACK_MAX];
	char struggle[256];
	double begun[PACE_MAX]; /* when the last turns began */
	unsigned turns;
	unsigned waits_in_row;
};

struct turn {
	struct output *output;
	struct engine_turn end;
	unsigned number; /* of the iteration, from 1 */
	int64_t started;
	double seconds;
	enum fault fault;
	char error[400];
	char task[300];
	char verify[8];
	const char *refused; /* why a completion was; NULL: it was not */
	struct promises promises;
	bool progress; /* a task was finished */
	bool changed;  /* a file, or a commit */
};

void engine_end(struct run *run, enum run_status status, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Takes the reference. */
void engine_event(struct run *run, const char *name, json_t *details);
/* Why the turn failed, where it did, in the agent's words. */
void engine_judge(struct turn *turn);
/* For the history; the caller's. */
json_t *engine_record(const struct turn *turn);
/* Ends the run where a promise does; -1: the sandbox failed at the check. */
int engine_heed_promise(struct run *run, struct turn *turn, struct error *err);
