/* SPDX-License-Identifier: Apache-2.0 */
/*
 * child_run.c - run a tool to its end and take what it says
 *
 * stdout and stderr are read together, so that a tool that fills one of them
 * never waits for us. The process's end counts, not the pipes': a daemon that
 * it left behind may hold them for ever.
 */
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/text.h"

enum {
	LINE_MAX_BYTES = 256,
	/* What a daemon may still pour into the pipes after the end. */
	DRAIN_MAX = 1024 * 1024,
};

/* The last line that is not blank; the beginning of it when it is long. */
struct last_line {
	char current[LINE_MAX_BYTES];
	size_t len;
	bool blank;
	char last[LINE_MAX_BYTES];
};

static void last_line_end(struct last_line *line)
{
	if (!line->blank)
		text_printable(line->current, line->len, line->last,
			       sizeof(line->last));
	line->len = 0;
	line->blank = true;
}

static void last_line_feed(struct last_line *line, const char *bytes,
			   size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n' || bytes[i] == '\r') {
			last_line_end(line);
			continue;
		}
		if (line->len < sizeof(line->current))
			line->current[line->len++] = bytes[i];
		if (bytes[i] != ' ' && bytes[i] != '\t')
			line->blank = false;
	}
}

struct run {
	struct child child;
	struct buffer *out; /* may be NULL */
	struct last_line line;
	int out_fd, err_fd; /* owned; -1 when closed or not ours */
};

static void run_auto(struct run *run)
{
	int status;

	if (run->out_fd >= 0)
		close(run->out_fd);
	if (run->err_fd >= 0)
		close(run->err_fd);
	if (run->child.pid > 0) {
		(void)kill(run->child.pid, SIGKILL);
		(void)child_wait(&run->child, &status, NULL);
	}
}

/*
 * One read of *fd, which is closed and -1 at its end. Returns how many bytes
 * came; 0 also when none are there now.
 */
static ssize_t take_some(struct run *run, int *fd, struct error *err)
{
	char chunk[8192];
	ssize_t got = read(*fd, chunk, sizeof(chunk));

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (got < 0)
		return error_set(err, errno, "read");
	if (!got)
		close(TAKE_FD(*fd));
	else if (fd == &run->err_fd)
		last_line_feed(&run->line, chunk, (size_t)got);
	else if (buffer_append(run->out, chunk, (size_t)got) < 0)
		return error_set(err, EFBIG, "more than %zu bytes of output",
				 run->out->max);
	return got;
}

/* Takes what is in the pipe after the process ended. */
static int drain(struct run *run, int *fd, struct error *err)
{
	for (size_t total = 0; *fd >= 0 && total < DRAIN_MAX;) {
		ssize_t got = take_some(run, fd, err);

		if (got < 0)
			return -1;
		if (!got)
			break;
		total += (size_t)got;
	}
	return 0;
}

static int collect(struct run *run, struct error *err)
{
	for (;;) {
		/* poll() passes over negative descriptors. */
		struct pollfd fds[] = {
			{ .fd = run->out_fd, .events = POLLIN },
			{ .fd = run->err_fd, .events = POLLIN },
			{ .fd = run->child.pidfd, .events = POLLIN },
		};

		if (poll(fds, ARRAY_SIZE(fds), -1) < 0) {
			if (errno == EINTR)
				continue;
			return error_set(err, errno, "poll");
		}
		if (fds[2].revents)
			break;
		if (fds[0].revents && take_some(run, &run->out_fd, err) < 0)
			return -1;
		if (fds[1].revents && take_some(run, &run->err_fd, err) < 0)
			return -1;
	}
	if (drain(run, &run->out_fd, err) < 0 ||
	    drain(run, &run->err_fd, err) < 0)
		return -1;
	last_line_end(&run->line);
	return 0;
}

/* A pipe of which the end that we read does not block. */
static int open_pipe(int *read_end, int *write_end, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	*read_end = ends[0];
	*write_end = ends[1];
	if (fcntl(*read_end, F_SETFL, O_NONBLOCK) < 0)
		return error_set(err, errno, "pipe");
	return 0;
}

static bool wants(const struct child_spec *spec, int fd)
{
	for (size_t i = 0; i < spec->fd_count; i++) {
		if (spec->fds[i].to == fd)
			return false;
	}
	return true;
}

static int start(struct run *run, const struct child_spec *spec,
		 struct error *err)
{
	AUTO_FREE struct child_fd *fds =
		xcalloc(spec->fd_count + 2, sizeof(*fds));
	AUTO_CLOSE int out_end = -1;
	AUTO_CLOSE int err_end = -1;
	struct child_spec with = *spec;

	if (spec->fd_count)
		memcpy(fds, spec->fds, spec->fd_count * sizeof(*fds));
	with.fds = fds;
	with.flags |= CHILD_NULL_STDIO;
	if (run->out && wants(spec, STDOUT_FILENO)) {
		if (open_pipe(&run->out_fd, &out_end, err) < 0)
			return -1;
		fds[with.fd_count++] =
			(struct child_fd){ out_end, STDOUT_FILENO };
	}
	if (wants(spec, STDERR_FILENO)) {
		if (open_pipe(&run->err_fd, &err_end, err) < 0)
			return -1;
		fds[with.fd_count++] =
			(struct child_fd){ err_end, STDERR_FILENO };
	}
	return child_spawn(&with, &run->child, err);
}

int child_run(const struct child_spec *spec, struct buffer *out,
	      struct error *err)
{
	__attribute__((cleanup(run_auto))) struct run run = {
		.child = { .pid = -1, .pidfd = -1 },
		.out = out,
		.line = { .blank = true },
		.out_fd = -1,
		.err_fd = -1,
	};
	const char *slash = strrchr(spec->path, '/');
	const char *tool = slash ? slash + 1 : spec->path;
	const char *says = run.line.last;
	int status;

	if (start(&run, spec, err) < 0)
		return -1;
	if (collect(&run, err) < 0 || child_wait(&run.child, &status, err) < 0)
		return error_prefix(err, "%s", tool);
	if (WIFSIGNALED(status))
		return error_set(err, 0, "%s: killed by signal %d%s%s", tool,
				 WTERMSIG(status), *says ? ": " : "", says);
	if (WEXITSTATUS(status))
		return error_set(err, 0, "%s: exit code %d%s%s", tool,
				 WEXITSTATUS(status), *says ? ": " : "", says);
	return 0;
}
