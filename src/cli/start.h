/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start.h - a running supervisor for a sandbox
 */
#pragma once

#include <stdbool.h>

#include "ipc/control.h"

struct error;
struct plan;
struct sandbox;

struct start {
	struct control_client control; /* owned: to its supervisor */
	/*
	 * Owned: the sandbox's `lock`, held until the supervisor has answered
	 * once, so that nobody starts a second one; -1 when it ran already.
	 */
	int lock;
	int turn;     /* owned: its place among the starts; kept as `lock` is */
	int admitted; /* owned: its place in the host's memory; or -1 */
	bool joined;  /* it ran already when we came */
};

enum start_wait {
	START_WAIT,    /* come back when it runs */
	START_NO_WAIT, /* the next request waits: `exec` does */
};

/*
 * Connects to the sandbox's supervisor; starts one when there is none. plan
 * may be NULL: then it is made from the record. When KVM does not work, says
 * so and starts under TCG, unless the sandbox has run under KVM before.
 */
int start_sandbox(struct sandbox *sandbox, struct plan *plan,
		  enum start_wait wait, struct start *start, struct error *err);
void start_release(struct start *start);
/*
 * After a request that failed with err: true when the supervisor was one that
 * was just ending. It is gone then, and start_sandbox() may be called again.
 */
bool start_was_ending(const struct sandbox *sandbox, struct start *start,
		      const struct error *err);
#define AUTO_START __attribute__((cleanup(start_release)))
#define START_INIT                                \
	((struct start){ .control = { .fd = -1 }, \
			 .lock = -1,              \
			 .turn = -1,              \
			 .admitted = -1 })
