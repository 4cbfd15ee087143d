/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - bawn-files: the shared folders, served to one guest
 *
 * Descriptors: 2 log, 3 the files port, 4 the start message (config.h), which
 * names others: the memory file that keeps the nodes, the channel to the
 * launcher, the folder of what outlives this process.
 * Sources: "files port" and "bell" (records of the guest), "host changes"
 * (inotify),
 * "launcher" (control.h), the timer "sweep", SIGTERM.
 *
 * SIGTERM is a planned end: what was answered is written out, and a successor
 * goes on with the same memory file.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "files/config.h"
#include "files/profile.h"
#include "files/server.h"

enum {
	PORT_FD = 3,
	CONFIG_FD = 4,
};

static void on_signal(void *ctx, const struct signalfd_siginfo *info)
{
	loop_stop(ctx);
}

static int prepare(struct server *server, struct loop *loop, struct error *err)
{
	struct config config;
	sigset_t set;

	if (config_read(CONFIG_FD, &config, server, err) < 0)
		return -1;
	close(CONFIG_FD);
	if (server_init(server, loop, PORT_FD, config.memory_fd,
			config.control_fd, err) < 0)
		return -1;
	if (port_map(&server->port, config.to_guest_fd, config.from_guest_fd,
		     err) < 0 ||
	    port_map_rings(&server->port, config.rings_fd, config.bell_fd,
			   err) < 0)
		return -1;
	if (config.has_marker)
		port_expect_marker(&server->port, config.marker);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	return loop_signals(loop, &set, on_signal, loop, err);
}

static int serve(struct server *server, struct error *err)
{
	struct loop *loop = loop_new(err);

	if (!loop || prepare(server, loop, err) < 0 ||
	    profile_enter(server, err) < 0 || server_start(server, err) < 0)
		return -1;
	control_say(&server->control, "ready");
	if (loop_run(loop, err) < 0)
		return -1;
	port_finish(&server->port);
	if (server->port.why)
		return error_set(err, 0, "protocol broken");
	server_release(server);
	loop_free(loop);
	return 0;
}

int main(int argc, char **argv)
{
	struct server *server = xcalloc(1, sizeof(*server));
	struct error err = { 0 };
	int result;

	log_identity("bawn-files", NULL);
	signal(SIGPIPE, SIG_IGN);
	result = serve(server, &err);
	if (result < 0)
		log_error("%s", err.text);
	/* Not freed: the worker's thread may be using it. */
	return result < 0;
}
