/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - bawn-net: the only way out of a guest
 *
 * Descriptors: 2 errors, 3 the net port, 4 the start message (config.h), 5 the
 * launcher's packets, 6 the names file, 7 the log, 8 bawn-keys' packets, 9 the
 * memory of slots.h.
 * Sources: "net port" (frames of the guest), "launcher", "bawn-keys",
 * "upstream" (each connection to the Internet), "name server", "published port"
 * and "published" (connections to the guest), "unix socket", the timers of
 * deadline.h, "ask", "bawn-layers", "layer" (one on its way there), SIGTERM.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/secret.h"
#include "net/config.h"
#include "net/gate.h"
#include "net/profile.h"

enum {
	PORT_FD = 3,
	CONFIG_FD = 4,
	CONTROL_FD = 5,
	NAMES_FD = 6,
	LOG_FD = 7,
	KEYS_FD = 8,
	SLOTS_FD = 9,
};

static void on_signal(void *ctx, const struct signalfd_siginfo *info)
{
	gate_stop(ctx, NULL);
}

/* -1 when there is no such descriptor: tests leave some out. */
static int existing(int fd)
{
	return fcntl(fd, F_GETFD) < 0 ? -1 : fd;
}

static int prepare(struct gate *gate, struct loop *loop, struct error *err)
{
	const struct gate_fds fds = { .port = PORT_FD,
				      .control = existing(CONTROL_FD),
				      .names = existing(NAMES_FD),
				      .log = existing(LOG_FD),
				      .keys = existing(KEYS_FD),
				      .slots = existing(SLOTS_FD) };
	struct config *config;
	sigset_t set;

	ca_lock_memory();
	config = config_read(CONFIG_FD, CONFIG_START, err);
	if (!config)
		return -1;
	close(CONFIG_FD);
	log_identity("bawn-net", config->sandbox);
	if (gate_init(gate, loop, config, &fds, err) < 0)
		return -1;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	return loop_signals(loop, &set, on_signal, gate, err);
}

static int serve(struct gate *gate, struct error *err)
{
	struct loop *loop = loop_new(err);

	if (!loop || prepare(gate, loop, err) < 0 ||
	    profile_enter(gate->start->uid, err) < 0)
		return -1;
	if (gate->start->has_keys)
		keys_wait(&gate->keys);
	if (gate_start(gate, err) < 0)
		return -1;
	control_say_ready(&gate->control);
	if (loop_run(loop, err) < 0)
		return -1;
	if (gate->why)
		return error_set(err, 0, "%s", gate->why);
	gate_release(gate);
	loop_free(loop);
	return 0;
}

int main(int argc, char **argv)
{
	struct gate *gate = xcalloc(1, sizeof(*gate));
	struct error err = { 0 };
	int result;

	log_identity("bawn-net", NULL);
	signal(SIGPIPE, SIG_IGN);
	/* Texts of JSON hold keys for a moment. */
	json_set_alloc_funcs(xmalloc, secret_free_memory);
	result = serve(gate, &err);
	if (result < 0)
		log_error("%s", err.text);
	free(gate);
	return result < 0;
}
