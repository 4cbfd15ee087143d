/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_pump.c - one connection of a guest to an MCP server of the host
 *
 * The server is started first, and only then, with nothing left but four
 * descriptors, is a line of the guest's looked at. A side that reads nothing
 * holds up the other: no more is read than was passed on.
 */
#include "cli/mcp_host.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/child.h"
#include "base/error.h"
#include "base/own.h"
#include "isolate/isolate.h"

#define FIRST_BYTE_MS 60000
#define READ_BYTES 65536
#define KEPT 300 /* numbers of descriptors that are kept, from here */
#define LOG_LINES_MAX 100000 /* of one connection */

AUTO_DEFINE(json, json_t *, json_decref)

static const char *const syscalls[] = {
	/* both sides; log lines */
	"read",
	"write",
	"writev",
	"poll",
	"ppoll",
	"close",
	"shutdown",
	/* memory of messages */
	"getrandom",
	ISOLATE_EVERY_PROCESS,
	NULL,
};

static const struct isolate_argument arguments[] = {
	/* abort() */
	{ "tgkill", 0, 0xffffffff, ISOLATE_OWN_PID },
	{ NULL, 0, 0, 0 },
};

/* One direction. */
struct way {
	const char *from_name;
	int from, to;
	struct buffer in, out;
	bool ended; /* nothing more will come */
};

struct pump {
	const struct mcp_pump *setup;
	struct way ways[2]; /* to the server, to the guest */
	unsigned lines;
};

static int lock_up(struct error *err)
{
	static const struct isolate_path paths[] = { { NULL, -1, 0 } };
	const struct isolate_profile profile = {
		.name = "bawn mcp",
		.paths = paths,
		.syscalls = syscalls,
		.arguments = arguments,
	};

	return isolate_hidden(&profile, err);
}

static void write_log(struct pump *pump, json_t *log)
{
	AUTO(json) json_t *entry = log;
	AUTO_FREE char *text = NULL;
	char when[32] = "";
	time_t now = time(NULL);
	struct tm tm;

	if (gmtime_r(&now, &tm))
		(void)strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &tm);
	json_object_set_new(entry, "time", json_string(when));
	text = json_dumps(entry, JSON_COMPACT | JSON_SORT_KEYS);
	if (text) {
		size_t len = strlen(text);

		/* one write: others append, too */
		text[len] = '\n';
		(void)!write(pump->setup->log, text, len + 1);
	}
}

/* -1: it is no message, or there were too many. */
static int pass_line(struct pump *pump, struct way *way, size_t len)
{
	const char *bytes = (const char *)way->in.data;
	struct mcp_line line;

	if (mcp_line_parse(bytes, len, &line) < 0) {
		write_log(pump, json_pack("{s:s, s:s, s:s, s:I}", "server",
					  pump->setup->name, "from",
					  way->from_name, "kind", "refused",
					  "bytes", (json_int_t)len));
		return -1;
	}
	if (++pump->lines > LOG_LINES_MAX)
		return -1;
	write_log(pump,
		  mcp_line_log(&line, pump->setup->name, way->from_name, len));
	return buffer_append(&way->out, bytes, len) < 0 ||
			       buffer_append(&way->out, "\n", 1) < 0
		       ? -1
		       : 0;
}

static int pass_lines(struct pump *pump, struct way *way)
{
	const uint8_t *feed;

	while (way->in.len && !way->out.len &&
	       (feed = memchr(way->in.data, '\n', way->in.len))) {
		size_t len = (size_t)(feed - way->in.data);
		size_t text = len && feed[-1] == '\r' ? len - 1 : len;

		if (text && pass_line(pump, way, text) < 0)
			return -1;
		buffer_consume(&way->in, len + 1);
	}
	return 0;
}

static int take_in(struct pump *pump, struct way *way)
{
	uint8_t bytes[READ_BYTES];
	ssize_t got = read(way->from, bytes, sizeof(bytes));

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	if (got == 0)
		way->ended = true;
	else if (buffer_append(&way->in, bytes, (size_t)got) < 0)
		return -1; /* a line without an end */
	return pass_lines(pump, way);
}

static int give_out(struct pump *pump, struct way *way)
{
	ssize_t put = write(way->to, way->out.data, way->out.len);

	if (put < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	buffer_consume(&way->out, (size_t)put);
	return way->out.len ? 0 : pass_lines(pump, way);
}

static int step(struct pump *pump)
{
	struct pollfd polls[4];

	for (size_t i = 0; i < 2; i++) {
		struct way *way = &pump->ways[i];
		bool reads = !way->ended && !way->out.len;

		polls[2 * i] =
			(struct pollfd){ reads ? way->from : -1, POLLIN, 0 };
		polls[2 * i + 1] = (struct pollfd){ way->out.len ? way->to : -1,
						    POLLOUT, 0 };
	}
	if (poll(polls, 4, -1) < 0)
		return errno == EINTR ? 0 : -1;
	for (size_t i = 0; i < 2; i++) {
		if (polls[2 * i].revents && take_in(pump, &pump->ways[i]) < 0)
			return -1;
		if (polls[2 * i + 1].revents &&
		    give_out(pump, &pump->ways[i]) < 0)
			return -1;
	}
	return 0;
}

static void run(struct pump *pump)
{
	struct way *in = &pump->ways[0], *out = &pump->ways[1];

	while (!out->ended || out->out.len) {
		if (in->ended && !in->out.len && in->to >= 0)
			close(TAKE_FD(in->to)); /* it ends, and says more */
		if (step(pump) < 0)
			return;
	}
}

/* A probe of who answers here is no message, and starts nothing. */
static bool begins_with_message(int guest)
{
	struct pollfd poll_guest = { guest, POLLIN, 0 };
	char first;

	return poll(&poll_guest, 1, FIRST_BYTE_MS) == 1 &&
	       recv(guest, &first, 1, MSG_PEEK) == 1 && first == '{';
}

static int start_server(const struct mcp_pump *setup, int pipes[2],
			struct error *err)
{
	const char *const argv[] = { "sh", "-c", setup->command, NULL };
	int in[2], out[2];
	struct child child;
	int result;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		return error_set(err, errno, "pipe");
	const struct child_fd fds[] = { { in[0], 0 }, { out[1], 1 } };
	const struct child_spec spec = { .path = "/bin/sh",
					 .argv = argv,
					 .env = (const char *const *)environ,
					 .fds = fds,
					 .fd_count = ARRAY_SIZE(fds),
					 .flags = CHILD_DIE_WITH_US |
						  CHILD_NEW_SESSION |
						  CHILD_NULL_STDIO };

	/* a folder that is gone is no reason to have no server */
	(void)!chdir(setup->folder);
	result = child_spawn(&spec, &child, err);
	close(in[0]);
	close(out[1]);
	pipes[0] = in[1];
	pipes[1] = out[0];
	return result;
}

/* Nothing but these is open afterwards. */
static int keep_only(int *const fds[], size_t count)
{
	for (size_t i = 0; i < count; i++) {
		*fds[i] = fcntl(*fds[i], F_DUPFD_CLOEXEC, KEPT + (int)i);
		if (*fds[i] != KEPT + (int)i)
			return -1;
	}
	return close_range(STDERR_FILENO + 1, KEPT - 1, 0) < 0 ||
			       close_range(KEPT + (unsigned)count, ~0U, 0) < 0
		       ? -1
		       : 0;
}

_Noreturn void mcp_pump_serve(const struct mcp_pump *given)
{
	struct mcp_pump copy = *given, *setup = &copy;
	struct pump pump = { .setup = setup };
	struct error err = { 0 };
	int pipes[2];
	int *const kept[] = { &copy.guest, &copy.log, &pipes[0], &pipes[1] };

	signal(SIGINT, SIG_DFL);
	if (setup->log < 0 || !begins_with_message(setup->guest) ||
	    start_server(setup, pipes, &err) < 0 ||
	    keep_only(kept, ARRAY_SIZE(kept)) < 0)
		_exit(1);
	for (size_t i = 0; i < 2; i++) {
		struct way *way = &pump.ways[i];

		way->from_name = i ? "server" : "guest";
		way->from = i ? pipes[1] : setup->guest;
		way->to = i ? setup->guest : pipes[0];
		buffer_init(&way->in, MCP_LINE_MAX + READ_BYTES);
		buffer_init(&way->out, MCP_LINE_MAX + 1);
		(void)fcntl(way->from, F_SETFL, O_NONBLOCK);
		(void)fcntl(way->to, F_SETFL, O_NONBLOCK);
	}
	tzset(); /* opens a file, which is too late afterwards */
	if (lock_up(&err) < 0)
		_exit(1);
	run(&pump);
	_exit(0);
}
