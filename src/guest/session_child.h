/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_child.h - from the fork to the program of a session
 *
 * Everything that may wait (reading the template's files, entering a folder
 * that a relay serves) happens in the child: PID 1 never does.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "guest/cgroups.h"

struct message_session_start;

struct session_child {
	const struct message_session_start *start;
	int in, out, err; /* -1 = as in the parent, which is /dev/null */
	int terminal;     /* master of a pty, -1 = none */
	int report;       /* O_CLOEXEC: closed by exec, or gets a report */
	struct cgroup cgroup;
	int joined; /* the child was born in its cgroup */
};

struct session_report {
	uint32_t stage; /* enum session_stage */
	uint32_t error; /* errno */
};

/* Forks into child->cgroup and runs. The pid, or -1 with errno. */
pid_t session_child_start(struct session_child *child);
