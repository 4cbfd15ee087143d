/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session_child.c - forking children ahead and handing them their work
 *
 * A child that waits must hold no other session's pipes, or their readers
 * would never see the end; so it closes everything but its own ends, which get
 * fixed numbers.
 */
#include "guest/session_child.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/own.h"
#include "guest/files.h"
#include "guest/gate.h"
#include "guest/session_program.h"
#include "proto/frame.h"
#include "proto/messages.h"

#ifndef F_SETPIPE_SZ
#define F_SETPIPE_SZ 1031
#endif
#define PIPE_BYTES (64u * 1024) /* what a new pipe holds */
#define HIGH_FD 64              /* above the fixed numbers */

struct command {
	uint32_t len; /* of the message that follows */
	int32_t terminal;
};

enum { /* descriptors of the child while it waits */
       FD_COMMAND = 3,
       FD_REPORT = SESSION_PROGRAM_REPORT_FD,
       FD_COUNT,
};

struct child_ends {
	int fds[FD_COUNT];
};

/* Our end does not block; the program's end is as programs expect it. */
static int open_pipe(int *ours, int *theirs, int our_side)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -1;
	*ours = ends[our_side];
	*theirs = ends[!our_side];
	return fcntl(*ours, F_SETFL, O_NONBLOCK);
}

static int open_pipes(struct session_child *child, struct child_ends *ends)
{
	return open_pipe(&child->in, &ends->fds[STDIN_FILENO], 1) ||
	       open_pipe(&child->out, &ends->fds[STDOUT_FILENO], 0) ||
	       open_pipe(&child->err, &ends->fds[STDERR_FILENO], 0) ||
	       open_pipe(&child->command, &ends->fds[FD_COMMAND], 1) ||
	       open_pipe(&child->report, &ends->fds[FD_REPORT], 0);
}

static void close_ends(struct child_ends *ends)
{
	for (int i = 0; i < FD_COUNT; i++) {
		if (ends->fds[i] >= 0)
			close(ends->fds[i]);
	}
}

static void renumber(struct child_ends *ends)
{
	/* First out of the way of the numbers, then to them. */
	for (int i = 0; i < FD_COUNT; i++)
		ends->fds[i] = fcntl(ends->fds[i], F_DUPFD, HIGH_FD);
	for (int i = 0; i < FD_COUNT; i++) {
		int flags = i > STDERR_FILENO ? O_CLOEXEC : 0;

		if (dup3(ends->fds[i], i, flags) < 0)
			_exit(127);
	}
	if (syscall(SYS_close_range, FD_COUNT, ~0u, 0))
		_exit(127);
}

static void read_exactly(void *bytes, size_t len)
{
	uint8_t *to = bytes;

	while (len) {
		ssize_t n = read(FD_COMMAND, to, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			_exit(0); /* not needed any more */
		to += n;
		len -= (size_t)n;
	}
}

static _Noreturn void serve(void)
{
	struct message message;
	struct command command;
	uint8_t *bytes;

	read_exactly(&command, sizeof(command));
	if (command.len > FRAME_MESSAGE_MAX)
		_exit(127);
	bytes = xmalloc(command.len);
	read_exactly(bytes, command.len);
	if (message_decode(bytes, command.len, &message) ||
	    message.type != MESSAGE_SESSION_START)
		_exit(127);
	gate_wait(FILES_WAIT_MS);
	session_program_run(&message.session_start, command.terminal);
}

/* As fork(), but the child is born in its cgroup: nothing can slip out. */
static pid_t fork_into(const struct cgroup *cgroup)
{
	struct clone_args args = {
		.flags = CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (uint64_t)cgroup->fd,
	};
	pid_t pid = -1;

	if (cgroup->fd >= 0)
		pid = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	/* EAGAIN is the limit of tasks, and no reason to start outside it. */
	if (pid >= 0 || (cgroup->fd >= 0 && errno == EAGAIN))
		return pid;
	pid = fork();
	if (pid == 0 && cgroup->fd >= 0)
		cgroup_join(cgroup);
	return pid;
}

static _Noreturn void wait_and_serve(struct child_ends *ends)
{
	sigset_t none;

	renumber(ends);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	prctl(PR_SET_NAME, "bawn-session");
	serve();
}

int session_child_fork(struct session_child *child, struct cgroups *cgroups)
{
	struct child_ends ends = { { -1, -1, -1, -1, -1 } };
	int code = 0;

	*child = SESSION_CHILD_NONE;
	child->cgroup = cgroups_make(cgroups);
	if (open_pipes(child, &ends)) {
		code = errno;
	} else {
		child->pid = fork_into(&child->cgroup);
		if (child->pid == 0)
			wait_and_serve(&ends);
		code = errno;
	}
	close_ends(&ends);
	if (child->pid > 0)
		return 0;
	session_child_close(child);
	cgroup_remove(cgroups, &child->cgroup);
	*child = SESSION_CHILD_NONE;
	errno = code;
	return -1;
}

int session_child_run(struct session_child *child, const void *start,
		      size_t len, int terminal)
{
	struct command command = { (uint32_t)len, terminal };
	struct iovec pieces[2] = {
		{ &command, sizeof(command) },
		{ (void *)(uintptr_t)start, len },
	};
	size_t total = sizeof(command) + len;
	AUTO_CLOSE int fd = TAKE_FD(child->command);
	ssize_t n;

	/* All at once: nobody waits for a slow child. */
	if (total > PIPE_BYTES &&
	    fcntl(fd, F_SETPIPE_SZ, FRAME_MESSAGE_MAX + PIPE_BYTES) < 0)
		return -1;
	n = writev(fd, pieces, 2);
	if (n >= 0 && (size_t)n != total)
		errno = EMSGSIZE;
	return n == (ssize_t)total ? 0 : -1;
}

void session_child_close(struct session_child *child)
{
	int *const fds[] = { &child->command, &child->report, &child->in,
			     &child->out, &child->err };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		if (*fds[i] >= 0)
			close(*fds[i]);
		*fds[i] = -1;
	}
}
