/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_run.h - a loop in a real sandbox
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/loop_checkpoint.h"
#include "cli/loop_facts.h"
#include "cli/loop_turn.h"
#include "cli/loop_view.h"
#include "cli/store.h"
#include "loop/engine.h"
#include "loop/run_state.h"

struct error;

struct loop_run {
	struct sandbox sandbox; /* owned */
	json_t *keys;           /* owned */
	const char *const *argv;
	const char *verify, *hook; /* NULL: none */
	uint64_t idle_ms;
	bool checkpoints;     /* one before each iteration */
	bool must_checkpoint; /* there is no iteration without */
	bool in_guest;        /* the workspace: loop_guest.h */
	unsigned attempt;     /* one of several at once, from 1; 0: alone */
	int workspace;        /* owned */
	int folder;           /* owned: of its state */
	int lock;             /* owned: as long as it runs */
	struct run_state state;
	struct loop_view view;
	struct loop_signals signals;

	struct loop_facts facts;           /* private, of this iteration */
	uint64_t since;                    /* private: loop_guest.c */
	struct output *output;             /* private */
	struct buffer *said;               /* private: of a check */
	uint64_t beat_ms;                  /* private */
	unsigned iteration;                /* private */
	char tasks_file[64];               /* private */
	struct loop_checkpoint checkpoint; /* private */
};

#define LOOP_RUN_INIT                                           \
	((struct loop_run){ .sandbox = SANDBOX_INIT,            \
			    .workspace = -1,                    \
			    .folder = -1,                       \
			    .lock = -1,                         \
			    .checkpoint = LOOP_CHECKPOINT_INIT, \
			    .state = RUN_STATE_INIT,            \
			    .signals = LOOP_SIGNALS_INIT })
void loop_run_release(struct loop_run *run);
#define AUTO_LOOP_RUN __attribute__((cleanup(loop_run_release)))

extern const struct engine_world loop_run_world;

/* The tasks of a workspace; file has room for their name. */
int loop_run_tasks(int workspace, struct task_list *list, char *file,
		   size_t size, struct error *err);
/* In Markdown only: what else a JSON list holds is the agent's. */
void loop_run_mark_done(int workspace, const char *id);
/* The host's command at the end; what it must know is in its environment. */
void loop_run_hook(const struct loop_run *run);
