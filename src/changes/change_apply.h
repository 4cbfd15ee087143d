/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change_apply.h - a list of changes, written to the host's folder
 */
#pragma once

#include <stdbool.h>

struct apply_hold;
struct change;
struct change_list;
struct change_set;
struct error;

struct apply_setup {
	const struct change_set *set; /* that the list was made of */
	int root;                     /* the host's folder */
	bool force;                   /* also what is in conflict */
	/* Told of each change that was made; may be NULL. */
	void (*applied)(void *ctx, size_t at);
	/*
	 * Asked before a path becomes one of several names of a file; NULL:
	 * each may.
	 */
	bool (*may_link)(void *ctx, const char *path);
	void *ctx;
	/* How many got no attributes, which the host's folder does not keep;
	 * may be NULL. */
	size_t *unkept;
	struct apply_hold *hold; /* room for what is written; may be NULL */
};

/* Whether it is to be made: it is not in conflict, unless forced, and not
 * withheld. */
bool apply_wants(const struct apply_setup *setup, const struct change *change);
/*
 * Makes all changes but those in conflict and those withheld. A change that
 * fails does not stop the others, unless there was no room for it: then nothing
 * more is written or deleted. The first failure is the error.
 */
int change_apply(const struct apply_setup *setup,
		 const struct change_list *list, struct error *err);
