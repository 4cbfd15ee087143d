/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_mcp.c - mcp: sandboxes as tools of another agent, on stdin and stdout
 *
 * Each call runs this program once more. stdout is the protocol's alone.
 */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/fileio.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/mcp.h"

#define OUTPUT_MAX (512u * 1024)
#define LATER_MS 200 /* for what a program wrote last */

AUTO_DEFINE(json, json_t *, json_decref)

struct pipes {
	int out[2], err[2], input;
};

static void pipes_close(struct pipes *pipes)
{
	const int fds[] = { pipes->out[0], pipes->out[1], pipes->err[0],
			    pipes->err[1], pipes->input };

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* A file in memory: the program reads at its own pace, we do not wait. */
static int input_of(const char *text, struct error *err)
{
	int fd = memfd_create("input", MFD_CLOEXEC);

	if (fd < 0 || fileio_write_all(fd, text, strlen(text), err) < 0 ||
	    lseek(fd, 0, SEEK_SET) < 0) {
		error_set(err, errno, "input");
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

static int start(const struct mcp_order *order, struct pipes *pipes,
		 struct child *child, struct error *err)
{
	const struct child_fd fds[] = { { pipes->out[1], 1 },
					{ pipes->err[1], 2 },
					{ pipes->input, 0 } };
	const struct child_spec spec = {
		.path = "/proc/self/exe",
		.argv = order->argv,
		.env = (const char *const *)environ,
		.fds = fds,
		.fd_count = pipes->input < 0 ? 2 : 3,
		.flags = CHILD_DIE_WITH_US | CHILD_NULL_STDIO,
	};

	return child_spawn(&spec, child, err);
}

/* The beginning is kept; whoever prints more is not held up. */
static void take(struct pollfd *from, struct buffer *to)
{
	char bytes[16384];
	ssize_t n = read(from->fd, bytes, sizeof(bytes));

	if (n > 0)
		buffer_append(to, bytes,
			      (size_t)n < to->max - to->len
				      ? (size_t)n
				      : to->max - to->len);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		from->fd = -1;
}

static void collect(const struct pipes *pipes, const struct child *child,
		    struct buffer *out, struct buffer *err_text)
{
	struct pollfd polls[] = { { pipes->out[0], POLLIN, 0 },
				  { pipes->err[0], POLLIN, 0 },
				  { child->pidfd, POLLIN, 0 } };

	while (polls[0].fd >= 0 || polls[1].fd >= 0) {
		/* its end counts: a supervisor that it started lives on */
		int timeout = polls[2].fd < 0 ? LATER_MS : -1;

		if (poll(polls, ARRAY_SIZE(polls), timeout) == 0)
			break;
		if (polls[0].fd >= 0 && polls[0].revents)
			take(&polls[0], out);
		if (polls[1].fd >= 0 && polls[1].revents)
			take(&polls[1], err_text);
		if (polls[2].fd >= 0 && polls[2].revents)
			polls[2].fd = -1;
	}
}

static int run_order(void *ctx, const struct mcp_order *order,
		     struct mcp_output *output, struct error *err)
{
	struct pipes pipes = { { -1, -1 }, { -1, -1 }, -1 };
	AUTO_BUFFER struct buffer out = BUFFER_INIT(OUTPUT_MAX);
	AUTO_BUFFER struct buffer err_text = BUFFER_INIT(OUTPUT_MAX);
	struct child child;
	int status = 0, result = -1;

	(void)ctx;
	if (pipe2(pipes.out, O_CLOEXEC) < 0 || pipe2(pipes.err, O_CLOEXEC) < 0)
		error_set(err, errno, "pipe");
	else if (!order->input ||
		 (pipes.input = input_of(order->input, err)) >= 0)
		result = start(order, &pipes, &child, err);
	if (result == 0) {
		close(TAKE_FD(pipes.out[1]));
		close(TAKE_FD(pipes.err[1]));
		collect(&pipes, &child, &out, &err_text);
		result = child_wait(&child, &status, err);
	}
	pipes_close(&pipes);
	if (result < 0)
		return -1;
	output->exit_code = child_exit_code(status);
	output->out = mcp_text(out.data, out.len);
	output->err = mcp_text(err_text.data, err_text.len);
	return 0;
}

static int say(json_t *message)
{
	AUTO(json) json_t *owned = message;
	AUTO_FREE char *text = json_dumps(owned, JSON_COMPACT);

	if (!text || puts(text) == EOF || fflush(stdout) != 0)
		return -1;
	return 0;
}

/* Every whole line in the buffer; -1 when nobody reads our answers. */
static int answer_lines(const struct mcp *mcp, struct buffer *in)
{
	const char *end;

	while (in->len && (end = memchr(in->data, '\n', in->len))) {
		size_t len = (size_t)(end - (const char *)in->data);
		json_t *answer = mcp_answer(mcp, (const char *)in->data, len);

		buffer_consume(in, len + 1);
		if (answer && say(answer) < 0)
			return -1;
	}
	return 0;
}

static int serve(const struct mcp *mcp, struct error *err)
{
	AUTO_BUFFER struct buffer in = BUFFER_INIT(MCP_LINE_MAX);
	char bytes[16384];
	ssize_t len;

	while ((len = read(STDIN_FILENO, bytes, sizeof(bytes))) != 0) {
		if (len < 0 && errno == EINTR)
			continue;
		if (len < 0)
			return error_set(err, errno, "stdin");
		if (buffer_append(&in, bytes, (size_t)len) < 0)
			return error_set(err, EFBIG,
					 "a message of more than %u bytes",
					 MCP_LINE_MAX);
		if (answer_lines(mcp, &in) < 0)
			return 0; /* main.c says so */
	}
	return 0;
}

static int run(const struct options *options, struct error *err)
{
	const struct mcp mcp = {
		.read_only = options_flag(options, "read-only"),
		.run = run_order,
	};

	if (isatty(STDIN_FILENO))
		fputs("bawn: an MCP server on this terminal: messages are "
		      "JSON lines, Ctrl-D ends it\n",
		      stderr);
	return serve(&mcp, err);
}

static const struct option_row rows[] = {
	{ "read-only", '\0', OPTION_FLAG, NULL,
	  "offer only tools that change nothing", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_mcp = {
	.name = "mcp",
	.arguments = "",
	.help = "let another agent use sandboxes: an MCP server on stdin and "
		"stdout",
	.options = rows,
	.failure_code = 1,
	.run = run,
};
