/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_options.h - what `loop` was asked for
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"
#include "loop/engine.h"
#include "loop/output.h"

struct error;

struct loop_options {
	json_t *agents;     /* owned: the table */
	const char *agent;  /* canonical; of the table */
	bool agent_given;   /* by the user */
	char *path;         /* owned: the workspace, absolute */
	char *prompt;       /* owned; NULL: none was given */
	char *template;     /* owned; NULL: the default */
	const char **argv;  /* owned: of one turn */
	const char **extra; /* owned: what argv was made from */
	const char *agent_command, *model, *verify, *hook;
	enum output_format format;
	struct engine_limits limits;
	struct promise_words words;
	unsigned max_iterations, min_iterations;
	unsigned attempts; /* 0: one loop in one sandbox */
	uint64_t idle_seconds;
	bool json, tasks, keep, fresh, rollback, checkpoints;
	const struct options *options; /* borrowed */
};

#define LOOP_OPTIONS_INIT ((struct loop_options){ .agents = NULL })
void loop_options_release(struct loop_options *wish);
#define AUTO_LOOP_OPTIONS __attribute__((cleanup(loop_options_release)))

extern const struct option_row loop_option_rows[];
/* Passed on to `create`, as sandbox_options are. */
extern const struct option_row loop_sandbox_rows[];

/* AGENT and PATH. Release it also after a failure. */
int loop_options_place(struct loop_options *wish, const struct options *options,
		       struct error *err);
/* The rest. */
int loop_options_take(struct loop_options *wish, const struct options *options,
		      struct error *err);

/* The words of `create`, NULL-terminated; free them with the other one. */
const char **loop_options_create(const struct loop_options *wish,
				 const char *name);
void loop_options_free_create(const char **argv);
