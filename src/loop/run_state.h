/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_state.h - what is kept about a run of the loop
 *
 * state/loops/NAME/ is bawn's own: state.json, history.jsonl (a record for
 * each turn) and `lock`, held by the loop that runs. The workspace has copies
 * of both, which nobody here reads: the guest may have forged them.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "loop/breaker.h"

struct buffer;
struct error;

#define RUN_STATE_FOLDER "loops"
#define RUN_STATE_FILE "state.json"
#define RUN_STATE_HISTORY "history.jsonl"
#define RUN_STATE_LOCK "lock"
#define RUN_STATE_BYTES_MAX ((size_t)2 * 1024 * 1024)
#define RUN_HISTORY_BYTES_MAX ((size_t)32 * 1024 * 1024)

enum run_status {
	RUN_RUNNING,
	RUN_COMPLETE,
	RUN_LIMIT,   /* iterations, time, cost, calls, breaker */
	RUN_BLOCKED, /* the agent cannot go on; detail is its reason */
	RUN_DECIDE,  /* the user must choose; detail is the question */
	RUN_FAILED,  /* the sandbox */
	RUN_AUTH,
	RUN_MISSING, /* no such agent there */
	RUN_INTERRUPTED,

	RUN_STATUSES,
};

struct run_state {
	char *name, *agent, *model, *workspace, *prompt; /* owned */
	enum run_status status;
	char detail[512]; /* printable */
	unsigned iteration, max_iterations, min_iterations;
	char complete_word[64], task_word[64];
	bool tasks_mode;
	int64_t started, heartbeat, ended; /* seconds since 1970 */
	pid_t pid;
	char boot_id[40];
	uint64_t tokens_in, tokens_out, cost_micros;
	double agent_seconds;
	unsigned waits;
	struct breaker breaker;
};

#define RUN_STATE_INIT ((struct run_state){ .name = NULL })
void run_state_release(struct run_state *state);
#define AUTO_RUN_STATE __attribute__((cleanup(run_state_release)))

/* The exit code that says the same; 0 for RUN_RUNNING too. */
int run_status_exit(enum run_status status);
const char *run_status_name(enum run_status status);

/* Pure. */
json_t *run_state_encode(const struct run_state *state);
int run_state_decode(const json_t *json, struct run_state *state,
		     struct error *err);

int run_state_save(int folder, const struct run_state *state,
		   struct error *err);
/* 1; 0 when there is none. */
int run_state_load(int folder, struct run_state *state, struct error *err);
/* The record stays the caller's. */
int run_history_append(int folder, const json_t *record, struct error *err);
/* A list; lines that are broken are passed over. The caller owns it. */
json_t *run_history_load(int folder, struct error *err);
int run_history_clear(int folder, struct error *err);

/* As users of other loops know it. The caller owns it. */
json_t *run_history_view(const struct run_state *state, const json_t *records);

void run_boot_id(char out[40]);
