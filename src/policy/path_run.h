/* SPDX-License-Identifier: Apache-2.0 */
/*
 * path_run.h - one request through the tree of paths
 *
 * Start, add the roots of the host patterns that match, run, release. Time is
 * the path's length times the nodes that it leads to at once: what a guest
 * chooses costs its length and no more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PATH_RUN_NONE UINT32_MAX
#define PATH_RUN_ROOM 16 /* nodes at once before memory is asked for */

struct path_tree;

struct path_nodes {
	uint32_t *list; /* `room`, or owned */
	uint32_t count, capacity;
	uint32_t room[PATH_RUN_ROOM];
};

struct path_run {
	const struct path_tree *tree;
	uint32_t method; /* one bit of method.h */
	uint16_t port;
	/*
	 * The results: numbers of rules, the first that match. What cannot
	 * change them is not looked at.
	 */
	uint32_t deny, allow;
	bool exact; /* a pattern without wildcard allows it */

	const char *rest;             /* of the path, behind this segment */
	struct path_nodes *now;       /* where the path so far leads */
	struct path_nodes *next;      /* with one more segment */
	struct path_nodes deep;       /* behind `**`: they stay */
	struct path_nodes one, other; /* now and next, in turns */
};

void path_run_start(struct path_run *run, const struct path_tree *tree,
		    uint16_t port, uint32_t method);
void path_run_add(struct path_run *run, uint32_t root);
/* It is allowed anyway, by such a pattern or not: only denials matter. */
void path_run_allow(struct path_run *run, bool exact);
/* NULL, or begins with anything but `/`: see struct policy_request. */
void path_run_match(struct path_run *run, const char *path);
void path_run_release(struct path_run *run);
