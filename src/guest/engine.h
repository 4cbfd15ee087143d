/* SPDX-License-Identifier: Apache-2.0 */
/*
 * engine.h - the sandbox's own Docker, started by who first connects to it
 *
 * PID 1 listens on /var/run/docker.sock. The first client makes it fork a
 * keeper (engine_keeper.h), which runs dockerd with the listening socket: the
 * client waits in the queue until the engine takes it, and nobody else waits.
 * When the engine ends, PID 1 listens again. A template without dockerd has no
 * socket.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/loop.h"
#include "guest/accounts.h"
#include "guest/cgroups.h"

struct engine {
	struct loop *loop;
	struct cgroups *cgroups;
	struct source listener; /* owns its fd; -1: no engine here */
	struct timer again;     /* a keeper could not be made */
	struct cgroup cgroup;   /* of the engine, made at the first start */
	pid_t pid;              /* of the keeper; 0 while nobody needs it */
	const char *program;
	bool stopping;
	bool was_used; /* containers may run even when the engine does not */
};

void engine_start(struct engine *engine, struct loop *loop,
		  struct cgroups *cgroups);
/* True when it was the keeper that ended. */
bool engine_on_exit(struct engine *engine, pid_t pid);
/* The machine is about to end: none is started any more. */
void engine_stop(struct engine *engine);

/* Path of the engine's program below root, NULL when there is none. */
const char *engine_find(const char *root);
/*
 * Who may use the socket besides root: group docker when the agent is in it,
 * else the agent's own group. Pure.
 */
gid_t engine_group(const struct account_files *files);
