/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cgroups.h - one process tree for each session, all of them below one limit
 *
 *   real root          PID 1 and its relays
 *     bawn             limits of memory and tasks; what the guest sees as
 *                      /sys/fs/cgroup (by a cgroup namespace), so that an
 *                      engine in a session makes its groups below the limits
 *       s1, s2, ...    a session each, with an equal share of the CPUs
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct error;

struct cgroup {
	int fd; /* owned: the folder; -1 = none */
	unsigned number;
};

struct cgroups {
	int top; /* owned: folder of "bawn" */
	unsigned last_number;
	uint64_t session_tasks_max;
	int frozen;
};

/* Mounts /sys/fs/cgroup and makes the tree. */
int cgroups_setup(struct cgroups *cgroups, struct error *err);
/* A new group; fd is -1 with errno when that failed. */
struct cgroup cgroups_make(struct cgroups *cgroups);

/*
 * Stops every process of every session and waits up to timeout_ms until they
 * stand; -1 when they do not.
 */
int cgroups_freeze(struct cgroups *cgroups, int timeout_ms);
void cgroups_thaw(struct cgroups *cgroups);

/* A process lives in a session, or is about to. */
int cgroups_any(const struct cgroups *cgroups);
/* SIGKILL to every process of every session. */
void cgroups_kill(const struct cgroups *cgroups);

/* SIGKILL to all of its processes, also to those that are being forked. */
void cgroup_kill(const struct cgroup *cgroup);
/* A process lives in it, or nobody knows. */
bool cgroup_is_used(const struct cgroup *cgroup);
/* Moves the calling process into it. */
int cgroup_join(const struct cgroup *cgroup);
/* Removes it and closes fd; -1 (and nothing changed) while it is in use. */
int cgroup_remove(struct cgroups *cgroups, struct cgroup *cgroup);
