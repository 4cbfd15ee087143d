/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_child.h - from the fork to the program of a session
 *
 * A child is forked ahead, into a cgroup of its own, and waits on a pipe for
 * the SESSION_START that it will serve: after a restore on a machine without
 * hardware virtualisation, every path of the kernel that is not taken saves
 * milliseconds of translation. Everything that may wait (reading the
 * template's files, entering a folder that a relay serves) happens in the
 * child: PID 1 never does.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "guest/cgroups.h"

struct session_child {
	pid_t pid; /* 0 = none */
	struct cgroup cgroup;
	/* PID 1's ends of pipes, non-blocking, owned; -1 = taken or closed */
	int command;      /* carries the SESSION_START */
	int report;       /* end of file when the program runs */
	int in, out, err; /* the program's stdin, stdout, stderr */
};

#define SESSION_CHILD_NONE                               \
	((struct session_child){ .cgroup = { .fd = -1 }, \
				 .command = -1,          \
				 .report = -1,           \
				 .in = -1,               \
				 .out = -1,              \
				 .err = -1 })

struct session_report {
	uint32_t stage; /* enum session_stage */
	uint32_t error; /* errno */
};

/* Forks one that waits; -1 with errno. */
int session_child_fork(struct session_child *child, struct cgroups *cgroups);
/*
 * Hands it an encoded SESSION_START; terminal is the number of a pty, -1 =
 * none. Closes the command pipe. -1 with errno when the child is gone.
 */
int session_child_run(struct session_child *child, const void *start,
		      size_t len, int terminal);
/* Closes what is left of its descriptors; the process itself goes on. */
void session_child_close(struct session_child *child);
