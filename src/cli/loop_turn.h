/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_turn.h - one program in the sandbox of a loop, watched until it ends
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "loop/engine.h"

struct error;
struct sandbox;

/* Ctrl-C: once lets the iteration end, twice ends it now. */
struct loop_signals {
	int fd; /* owned: signalfd */
	unsigned wishes;
};

#define LOOP_SIGNALS_INIT ((struct loop_signals){ .fd = -1 })
int loop_signals_open(struct loop_signals *signals, struct error *err);
void loop_signals_close(struct loop_signals *signals);
/* Takes what has come. */
void loop_signals_read(struct loop_signals *signals);

struct loop_turn {
	struct sandbox *sandbox;
	const json_t *keys, *variables; /* may be NULL */
	const char *user;               /* NULL: agent */
	const char *const *argv;
	const char *input; /* its stdin */
	uint64_t idle_ms;  /* without output; 0: no bound */
	uint64_t limit_ms; /* 0: no bound */
	struct loop_signals *signals;
	void (*on_output)(void *ctx, bool is_error, const void *bytes,
			  size_t len);
	/* What it says now is no sign of life; or NULL. */
	bool (*is_waiting)(void *ctx);
	void (*on_tick)(void *ctx); /* about once a second; may be NULL */
	void (*on_wish)(void *ctx); /* the first wish to stop; may be NULL */
	void *ctx;
};

/* -1: the sandbox failed. */
int loop_turn_run(const struct loop_turn *turn, struct engine_turn *end,
		  struct error *err);
