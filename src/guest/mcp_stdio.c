/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_stdio.c - `bawn-mcp NAME`: an MCP server of the host on stdin and stdout
 */
#include "guest/mcp_stdio.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fileio.h"
#include "base/own.h"
#include "base/text.h"

#define BYTES 65536
/* The sockets of a machine that has just started are made meanwhile. */
#define TRIES 40
#define BETWEEN_MS 50

bool mcp_stdio_is_meant(const char *argv0)
{
	const char *slash = argv0 ? strrchr(argv0, '/') : NULL;

	return argv0 && !strcmp(slash ? slash + 1 : argv0, "bawn-mcp");
}

static int connect_soon(int fd, const struct sockaddr_un *address)
{
	for (unsigned i = 1;; i++) {
		if (!connect(fd, (const struct sockaddr *)address,
			     sizeof(*address)))
			return 0;
		if (i == TRIES || (errno != ENOENT && errno != ECONNREFUSED))
			return -1;
		poll(NULL, 0, BETWEEN_MS);
	}
}

static int open_server(const char *name, struct error *err)
{
	AUTO_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (fd < 0)
		return error_set(err, errno, "socket");
	if (strchr(name, '/') ||
	    text_format(address.sun_path, sizeof(address.sun_path),
			"/run/bawn/mcp/%s.sock", name) < 0)
		return error_set(err, 0, "%s: no name of a server", name);
	if (connect_soon(fd, &address) < 0)
		return error_set(err, errno,
				 "%s is not there (on the host: `bawn run "
				 "--mcp %s=CMD`)",
				 name, name);
	return TAKE_FD(fd);
}

/* 1 bytes were passed on, 0 at the end, -1. */
static int pass(int from, int to)
{
	static char bytes[BYTES];
	ssize_t got = read(from, bytes, sizeof(bytes));

	if (got < 0)
		return errno == EINTR ? 1 : -1;
	if (!got)
		return 0;
	return fileio_write_all(to, bytes, (size_t)got, NULL) < 0 ? -1 : 1;
}

static int serve(int server, bool *answered)
{
	struct pollfd polls[2] = { { 0, POLLIN, 0 }, { server, POLLIN, 0 } };

	for (;;) {
		int got;

		if (poll(polls, 2, -1) < 0 && errno != EINTR)
			return 1;
		if (polls[1].revents) {
			got = pass(server, 1);
			if (got <= 0)
				return got < 0;
			*answered = true;
		}
		if (polls[0].fd < 0 || !polls[0].revents)
			continue;
		if (pass(0, server) > 0)
			continue;
		polls[0].fd = -1; /* what it still answers is passed on */
		shutdown(server, SHUT_WR);
	}
}

int mcp_stdio_run(int argc, char **argv)
{
	AUTO_CLOSE int server = -1;
	struct error err = { 0 };
	bool answered = false;

	if (argc != 2 || argv[1][0] == '-') {
		fputs("usage: bawn-mcp NAME   an MCP server of the host, as "
		      "`bawn run --mcp NAME=CMD`\n",
		      stderr);
		return 64;
	}
	signal(SIGPIPE, SIG_IGN);
	server = open_server(argv[1], &err);
	if (server >= 0) {
		int code = serve(server, &answered);

		/* who is not there is only known by that, or it refused */
		if (!answered)
			fprintf(stderr,
				"bawn-mcp: %s does not answer: no `bawn run "
				"--mcp %s=CMD` runs on the host, or it refused "
				"(`bawn logs --mcp` there)\n",
				argv[1], argv[1]);
		return answered ? code : 1;
	}
	fprintf(stderr, "bawn-mcp: %s\n", err.text);
	return 1;
}
