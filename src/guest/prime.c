/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prime.c - run what users run first, so that a snapshot has it in memory
 */
#include "guest/prime.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/loop.h"
#include "base/own.h"
#include "guest/cgroups.h"
#include "guest/pty.h"
#include "guest/session_child.h"
#include "proto/messages.h"

#define PRIME_MS 20000

struct program {
	uint32_t argc;     /* 0 = the login shell */
	const char *argv;  /* one text after another */
	const char *typed; /* on its terminal; NULL = no terminal */
};

static const struct program programs[] = {
	{ .typed = "exit\n" },
	{ .argc = 1, .argv = "true" },
	{ .argc = 3, .argv = "sh\0-c\0true" },
};

static void drop_output(int terminal)
{
	char bytes[4096];

	while (read(terminal, bytes, sizeof(bytes)) > 0)
		;
}

/* Until the process is gone. The terminal is kept from filling up. */
static void wait_for(pid_t pid, int terminal, uint64_t deadline)
{
	AUTO_CLOSE int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct pollfd wait[2] = { { .fd = pidfd, .events = POLLIN },
				  { .fd = terminal, .events = POLLIN } };

	while (pidfd >= 0) {
		uint64_t now = loop_now_ms();

		if (now >= deadline ||
		    poll(wait, 2, (int)(deadline - now)) < 0 || wait[0].revents)
			return;
		if (wait[1].revents & POLLIN)
			drop_output(terminal);
		else if (wait[1].revents)
			wait[1].fd = -1;
	}
}

static void type(int terminal, const char *text)
{
	if (terminal >= 0 && write(terminal, text, strlen(text)) < 0)
		log_debug("prime: %s", strerror(errno));
}

static void run_child(struct session_child *child,
		      const struct program *program, uint64_t deadline)
{
	struct message message = {
		.type = MESSAGE_SESSION_START,
		.session_start = { .flags = SESSION_NO_OUTPUT,
				   .argv = { .count = program->argc,
					     .first = program->argv },
				   /* what was typed here is not the user's */
				   .env = { .count = 1,
					    .first = "HISTFILE=/dev/null" } },
	};
	AUTO_CLOSE int terminal = program->typed ? pty_open(24, 80) : -1;
	uint8_t bytes[256];
	long len = message_encode(&message, bytes, sizeof(bytes));

	type(terminal, program->typed);
	if (len > 0 &&
	    !session_child_run(child, bytes, (size_t)len,
			       terminal < 0 ? -1 : pty_number(terminal)))
		wait_for(child->pid, terminal, deadline);
}

static void run_program(const struct program *program, struct cgroups *cgroups,
			uint64_t deadline)
{
	struct session_child child;

	if (session_child_fork(&child, cgroups)) {
		log_debug("prime: %s", strerror(errno));
		return;
	}
	run_child(&child, program, deadline);
	cgroup_kill(&child.cgroup);
	waitpid(child.pid, NULL, 0);
	/* Orphans of a shell's start files have to be reaped before. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	session_child_close(&child);
	if (cgroup_remove(cgroups, &child.cgroup)) {
		log_debug("prime: a process stays");
		close(child.cgroup.fd);
	}
}

void prime_run(struct cgroups *cgroups)
{
	uint64_t deadline = loop_now_ms() + PRIME_MS;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		run_program(&programs[i], cgroups, deadline);
}
