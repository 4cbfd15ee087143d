/* SPDX-License-Identifier: Apache-2.0 */
/*
 * checkpoint.h - states of a sandbox that it can go back to
 *
 * checkpoints/LABEL/ has the files of snapshot.h (a sandbox that was stopped
 * has no memory: the disk alone), `nodes` as the launcher left it, and
 * checkpoint.json. It is made as checkpoints/.tmp-… and renamed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct sandbox;
struct store;

#define CHECKPOINT_FOLDER "checkpoints"
#define CHECKPOINT_FILE "checkpoint.json"
#define CHECKPOINT_NODES "nodes"
#define CHECKPOINT_SHARES "files.json" /* as the memory knows them */
#define CHECKPOINT_LABEL_MAX 50

struct checkpoint {
	char label[CHECKPOINT_LABEL_MAX + 1];
	char parent[CHECKPOINT_LABEL_MAX + 1]; /* "": none */
	char mark[CHECKPOINT_LABEL_MAX + 32];  /* of the undo journal, or "" */
	bool memory;
	bool automatic; /* nobody named it */
	int64_t created;
	uint64_t bytes; /* on the disk */
	uint64_t freed; /* of these: what comes back; no fork uses it */
};

/* "origin" or "checkpoints/LABEL": 0. */
int checkpoint_place_ok(const char *place);
int checkpoint_label_check(const char *label, struct error *err);
/* Puts the nodes of a snapshot where the launcher looks for them. */
int checkpoint_give_nodes(const struct sandbox *sandbox, const char *place,
			  struct error *err);

/* What is there, oldest first; *list is malloc'd. */
int checkpoint_list(const struct sandbox *sandbox, struct checkpoint **list,
		    size_t *count, struct error *err);
/* err->code ENOENT when there is none of that label. */
int checkpoint_find(const struct sandbox *sandbox, const char *label,
		    struct checkpoint *checkpoint, struct error *err);
/* Its blocks come back when no fork uses them any more. */
int checkpoint_remove(const struct sandbox *sandbox, const char *label,
		      struct error *err);
/* The label that the next one has as its parent. */
int checkpoint_set_current(const struct sandbox *sandbox, const char *label,
			   struct error *err);

struct checkpoint_wish {
	const char *label; /* NULL: one is made up */
	/*
	 * Of a label that is made up, "KIND-...". Of that kind as many are kept
	 * as here, the newest. NULL: no kind.
	 */
	const char *prefix;
	unsigned kept;
	/* The caller has set it just now; NULL: one is set. */
	const char *mark;
	/* Nobody works in it: to stand for long matters less than to begin
	   late. */
	bool at_once;
	/* Called when a running machine goes on; what is left is copying. May
	   be NULL. */
	void (*went_on)(void *ctx, const char *label);
	void *ctx;
};

/*
 * checkpoint_make.c: of a sandbox in any state. The caller holds the sandbox's
 * lock.
 */
struct checkpoint_made {
	char label[CHECKPOINT_LABEL_MAX + 1];
	double pause_ms; /* how long the machine stood; 0: it did not run */
};
int checkpoint_make(const struct sandbox *sandbox,
		    const struct checkpoint_wish *wish,
		    struct checkpoint_made *made, struct error *err);
/*
 * checkpoint_take.c: the disk alone, of a sandbox in any state: its top layer
 * as it is now, in a new file of the folder, which nobody writes to any more.
 * The caller holds the sandbox's lock.
 */
int checkpoint_take_disk(const struct sandbox *sandbox, int folder,
			 const char *name, struct error *err);
/*
 * checkpoint_restore.c: disk and memory for the next start; the machine is gone
 * and the caller holds the lock.
 */
int checkpoint_restore(const struct sandbox *sandbox,
		       const struct checkpoint *checkpoint, struct error *err);
