/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the loop: one turn of a fresh agent after another
 *
 * All that touches the world goes through struct engine_world, so that the
 * rules can be tested without a sandbox. The order within a turn is the point:
 * what ends a run for good (a bad key, a promise) is looked at before what
 * only limits it, so that a completion on the last iteration is one.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "loop/promise.h"
#include "loop/run_state.h"
#include "loop/tasks.h"

struct buffer;
struct error;
struct output;

struct engine_limits {
	uint64_t max_seconds;     /* of the whole run; 0: none */
	uint64_t max_cost_micros; /* 0: none */
	unsigned max_calls_hour;  /* turns begun in an hour; 0: none */
	uint64_t backoff_seconds; /* the first wait; doubles */
	bool auto_reset;          /* a breaker that tripped closes again */
	uint64_t cooldown_seconds;
	bool once; /* one turn, whatever it says */
};

enum engine_end {
	ENGINE_TURN_EXITED,  /* exit_code says how */
	ENGINE_TURN_SILENT,  /* it said nothing for too long and was ended */
	ENGINE_TURN_OVERDUE, /* the time of the run is over */
	ENGINE_TURN_STOPPED, /* the user does not want to wait for its end */
	ENGINE_TURN_MISSING, /* no such program in the sandbox */
};

struct engine_turn {
	enum engine_end end;
	int exit_code;
	uint64_t deadline_seconds; /* in: at most so long; 0: no bound */
};

/* -1 of turn() and verify() is a failure of the sandbox. */
struct engine_world {
	int (*turn)(void *ctx, const char *prompt, struct output *output,
		    struct engine_turn *turn, struct error *err);
	/* Exit code of the user's check; NULL when there is none. */
	int (*verify)(void *ctx, struct buffer *said, int *exit_code,
		      struct error *err);
	/* False when the user ended the wait. */
	bool (*wait)(void *ctx, uint64_t seconds, const char *why);
	/* How often the user asked to stop. */
	unsigned (*stop_wishes)(void *ctx);
	double (*now)(void *ctx);    /* seconds; only differences count */
	int64_t (*clock)(void *ctx); /* seconds since 1970 */

	/* The list of tasks as it is now; file names it. */
	int (*tasks)(void *ctx, struct task_list *list, const char **file,
		     struct error *err);
	void (*task_done)(void *ctx, const char *id);
	/* What the user added since the last call. */
	void (*context)(void *ctx, struct buffer *out);
	/* Before and after each turn; adds "files", "egress" to the record. */
	int (*before)(void *ctx, unsigned iteration, struct error *err);
	bool (*after)(void *ctx, json_t *record); /* true: something changed */
	/* Back to before this turn; NULL when that is not wanted. */
	int (*rollback)(void *ctx, struct error *err);
	/* Something happened; details stay the engine's and may be NULL. */
	void (*event)(void *ctx, const char *name, const json_t *details);
	/* record may be NULL. */
	int (*save)(void *ctx, const struct run_state *state,
		    const json_t *record, struct error *err);
};

struct engine {
	const struct engine_world *world;
	void *ctx;
	struct engine_limits limits;
	struct promise_words words;
	const char *template; /* of the prompt; NULL: the default */
	int format;           /* enum output_format */
	struct run_state *state;
};

/*
 * Until the run ends; state->status and detail say how. -1 only when the state
 * could not be kept.
 */
int engine_run(struct engine *engine, struct error *err);
