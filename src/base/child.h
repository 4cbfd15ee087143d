/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child.h - start a process with exactly these descriptors and environment
 *
 * No shell, no PATH search, no inherited descriptor but the listed ones.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct error;

struct child_fd {
	int from; /* descriptor in this process */
	int to;   /* number in the child */
};

enum child_flags {
	CHILD_NEW_SESSION = 1 << 0, /* setsid() */
	CHILD_DIE_WITH_US = 1 << 1, /* SIGKILL at our death, parent checked */
	CHILD_NULL_STDIO = 1 << 2,  /* unlisted 0, 1, 2: /dev/null, else ours */
};

struct child_spec {
	const char *path;        /* absolute */
	const char *const *argv; /* NULL-terminated */
	const char *const *env;  /* NULL-terminated; NULL = empty environment */
	const struct child_fd *fds;
	size_t fd_count;
	unsigned flags;
	/*
	 * Runs in the child after the descriptors are in place and before exec;
	 * returns -1 with err set to give up. May be NULL. Only for
	 * single-threaded parents. With CHILD_DIE_WITH_US prctl() must still
	 * work afterwards: a changed user makes the kernel forget the death
	 * signal.
	 */
	int (*prepare)(void *ctx, struct error *err);
	void *prepare_ctx;
};

struct child {
	pid_t pid;
	int pidfd; /* owned */
};

/*
 * A failed exec or prepare is reported here, not by an exit code: the call
 * returns after exec succeeded or failed. Signal mask and dispositions of the
 * child are reset to the default.
 */
int child_spawn(const struct child_spec *spec, struct child *child,
		struct error *err);
/* Waits and closes the pidfd. Returns the wait status as of waitpid(). */
int child_wait(struct child *child, int *status, struct error *err);
/* 0..255 as shells count: exit code, or 128 + signal. */
int child_exit_code(int status);
/*
 * Runs to the end, collects at most max bytes of stdout in out (may be NULL:
 * then stdout is /dev/null). A non-zero exit is an error that quotes the last
 * line of stderr.
 */
struct buffer;
int child_run(const struct child_spec *spec, struct buffer *out,
	      struct error *err);
/*
 * Absolute path of a system tool, looked up in fixed system folders only
 * (never the caller's PATH); the text is static or malloc'd and never freed.
 */
const char *child_tool(const char *name, struct error *err);
