/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resume.h - the memory that the next start goes on with
 *
 * machine/suspended of a sandbox that was stopped, or what the file `next`
 * names after `restore` and `fork`: checkpoints/LABEL or origin. `next` is gone
 * before the machine runs, the suspended state as soon as it does: memory and
 * disk part then, and the one must never be loaded with the other again.
 */
#pragma once

#include <stdbool.h>

#include "state/snapshot.h"

struct error;
struct machine;
struct plan;
struct sandbox;

#define RESUME_NEXT_FILE "next"
#define RESUME_ORIGIN "origin"

struct resume {
	bool found;
	bool suspended; /* in machine/suspended, else in `place` */
	char place[160];
	struct snapshot snapshot;
};

/* What a snapshot's machine state depends on; 64 hex digits, malloc'd. */
char *resume_key(const struct plan *plan);
/* The same for people, as snapshot.h says; malloc'd. */
char *resume_facts(const struct plan *plan);
/*
 * Fills plan->resume. A state that is damaged or foreign is said, and removed:
 * the disk boots.
 */
void resume_find(const struct sandbox *sandbox, struct plan *plan);
/* The folder of what was found; the caller closes it. */
int resume_open(const struct sandbox *sandbox, const struct resume *resume);
/* Right before the start. */
int resume_begin(const struct sandbox *sandbox, const struct plan *plan,
		 struct error *err);
/* It could not be loaded: says so and removes it. */
void resume_refuse(const struct sandbox *sandbox, struct plan *plan,
		   const char *why);
/* The machine runs: what only it needed is removed. */
void resume_done(const struct sandbox *sandbox, const struct plan *plan);
/* Its memory is kept: 1; not: 0. */
bool resume_is_suspended(const struct sandbox *sandbox);
/* Removes machine/suspended and `next`. */
void resume_forget(const struct sandbox *sandbox);
