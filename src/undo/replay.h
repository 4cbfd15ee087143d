/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay.h - takes changes back, the last one first
 *
 * Each step looks at what lies there before it does anything. What the host
 * changed since is a conflict: told, and left alone unless forced. A step
 * whose effect is there already is passed over, and how far it got is noted
 * (undo/NNNNNN/done, undo/touched, undo/twins): after a crash the same call
 * completes it.
 *
 * A step that was left alone stays in the journal, so that a later call can
 * force it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "undo/inode_map.h"
#include "undo/twins.h"

struct error;
struct plan;

enum replay_did {
	REPLAY_RESTORED,   /* content or a whole file is back */
	REPLAY_REMOVED,    /* what the guest had made */
	REPLAY_MOVED,      /* `more` is called `path` again */
	REPLAY_ATTRIBUTES, /* mode, times, user.* */
	REPLAY_CONFLICT,   /* left alone; `more` says why */
	REPLAY_FAILED,     /* could not be done; `more` says why */
	REPLAY_LOST,       /* was never saved; `more` says why */

	REPLAY_KINDS,
};

struct replay {
	int undo_fd;     /* borrowed: the folder of the segments */
	bool force;      /* the host's changes go too */
	bool incomplete; /* by replay_plan(): changes were not written down */
	bool resumed;    /* by replay_begin(): another did not finish */
	/* Descriptor of the root of this share, borrowed; -1: none now. */
	int (*root_of)(void *ctx, const char *host_path);
	/* Paths may hold any byte. */
	void (*tell)(void *ctx, enum replay_did did, const char *path,
		     const char *more);
	void *ctx;
	struct plan *plan;         /* owned: of replay_plan() */
	struct inode_map touched;  /* made by this undo */
	struct inode_map restored; /* by earlier ones, as they left it */
	struct twins twins;
	int touched_fd, twins_fd; /* owned; -1 */
	size_t counts[REPLAY_KINDS];
};

#define REPLAY_INIT \
	((struct replay){ .undo_fd = -1, .touched_fd = -1, .twins_fd = -1 })

/* First of all. */
int replay_begin(struct replay *replay, struct error *err);
/* Tells what replay_run() would do, newest segment first; changes nothing. */
int replay_plan(struct replay *replay, unsigned number, struct error *err);
/*
 * Newest segment first. 1: all of it is taken back; 0: some steps are left in
 * its journal; -1.
 */
int replay_run(struct replay *replay, unsigned number, struct error *err);
/* All segments were run; all: there is none before them. */
void replay_finish(struct replay *replay, bool all);
void replay_release(struct replay *replay);
