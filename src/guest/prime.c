/* SPDX-License-Identifier: Apache-2.0 */
/*
 * prime.c - run what users run first, so that a snapshot has it in memory
 */
#include "guest/prime.h"

#include <errno.h>
#include <fcntl.h>
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
	uint32_t argc;    /* 0 = the login shell */
	const char *argv; /* one text after another */
	size_t argv_bytes;
	const char *typed; /* on its terminal; NULL = no terminal */
};

#define PROGRAM(count, texts)                     \
	{                                         \
		count, texts, sizeof(texts), NULL \
	}

static const struct program programs[] = {
	{ .typed = "exit\n" },
	PROGRAM(1, "true"),
	PROGRAM(3, "sh\0-c\0true"),
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

static void run_program(const struct program *program, struct cgroups *cgroups,
			uint64_t deadline)
{
	struct message_session_start start = {
		.user = "",
		.folder = "",
		.argv = { .count = program->argc,
			  .first = program->argv,
			  .end = program->argv + program->argv_bytes },
	};
	AUTO_CLOSE int terminal = program->typed ? pty_open(24, 80) : -1;
	AUTO_CLOSE int report = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct session_child child = { .start = &start,
				       .in = -1,
				       .out = -1,
				       .err = -1,
				       .terminal = terminal,
				       .report = report,
				       .cgroup = cgroups_take(cgroups) };
	pid_t pid;

	if (terminal >= 0 &&
	    write(terminal, program->typed, strlen(program->typed)) < 0)
		log_debug("prime: %s", strerror(errno));
	pid = session_child_start(&child);
	if (pid > 0)
		wait_for(pid, terminal, deadline);
	cgroup_kill(&child.cgroup);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	/* Orphans of a shell's start files have to be reaped before. */
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	if (cgroup_remove(cgroups, &child.cgroup)) {
		log_debug("prime: a process stays");
		close(child.cgroup.fd);
	}
	cgroups_refill(cgroups);
}

void prime_run(struct cgroups *cgroups)
{
	uint64_t deadline = loop_now_ms() + PRIME_MS;

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		run_program(&programs[i], cgroups, deadline);
}
