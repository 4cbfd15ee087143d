/* SPDX-License-Identifier: Apache-2.0 */
/*
 * replay_internal.h - between replay.c, replay_plan.c and replay_step.c
 */
#pragma once

#include "base/buffer.h"
#include "undo/replay.h"

/* One segment, read. */
struct scan {
	int folder, files; /* owned */
	struct buffer bytes;
	struct journal_reader reader;
	size_t *steps; /* owned: where the changes are, in order */
	size_t count;
	int roots[JOURNAL_SHARES_MAX];   /* borrowed; -1 */
	char *hosts[JOURNAL_SHARES_MAX]; /* owned: paths of the roots */
	struct inode_map left;
	bool ended; /* in order: what is in `left` is how the guest left it */
	/*
	 * When the last process that could not say so died; what was written
	 * by then may have been the guest's.
	 */
	int64_t died_ns;
	int64_t written_ns; /* the journal itself */
};

int scan_load(struct replay *replay, unsigned number, struct scan *scan,
	      struct error *err);
void scan_release(struct scan *scan);
/* The host has written it after the guest. */
bool scan_host_changed(const struct replay *replay, const struct scan *scan,
		       const struct journal_file *now);

/* About `path` of a share; `more` of REPLAY_MOVED is such a path too. */
void replay_say(struct replay *replay, const struct scan *scan, uint8_t share,
		enum replay_did did, const char *path, const char *more);

void plan_free(struct plan *plan);

enum step {
	STEP_DONE,
	STEP_KEPT, /* left alone */
};
enum step step_undo(struct replay *replay, const struct scan *scan,
		    const struct journal_record *record);
/* What lies there is the expected one, or was put there by this undo. */
bool step_is_ours(const struct replay *replay, const struct journal_file *now,
		  const struct journal_file *expected);
/* This inode is ours from now on, also after a crash. */
int step_touch(struct replay *replay, const struct journal_file *file);
/* What was the inode `was` will be `now`; known after a crash, too. */
int step_twin(struct replay *replay, const struct journal_file *was,
	      const struct journal_file *now);
