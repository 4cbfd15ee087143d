/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_checkpoint.h - a state before each iteration, to go back to
 *
 * A process of its own takes it: the loop waits until the machine goes on, and
 * the copying is done beside the agent's work.
 */
#pragma once

#include <sys/types.h>

#include "cli/checkpoint.h"

struct error;
struct sandbox;

#define LOOP_CHECKPOINTS_KEPT 5

struct loop_checkpoint {
	char label[CHECKPOINT_LABEL_MAX + 1]; /* of the last one; "": none */

	/* private */
	pid_t pid; /* of who copies; 0: nobody */
	int words; /* owned: what it says */
	char failure[256];
};

#define LOOP_CHECKPOINT_INIT ((struct loop_checkpoint){ .words = -1 })
/* Waits for who copies. */
void loop_checkpoint_release(struct loop_checkpoint *checkpoint);

/*
 * Comes back when the sandbox may be used; label is then that of the new one.
 * mark is where the workspace's journal stands, "" when nobody has set one;
 * lock is one that the new process must not keep.
 */
int loop_checkpoint_begin(struct loop_checkpoint *checkpoint,
			  const struct sandbox *sandbox, unsigned iteration,
			  const char *mark, int lock, struct error *err);
/* Until all is copied; -1 when the last one was not made after all. */
int loop_checkpoint_wait(struct loop_checkpoint *checkpoint, struct error *err);
/* Machine and workspace as they were at the last one. */
int loop_checkpoint_restore(struct loop_checkpoint *checkpoint,
			    const struct sandbox *sandbox, struct error *err);
