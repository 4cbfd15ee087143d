/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c - bawn-keys: the secrets of a sandbox, away from everything else
 *
 * Descriptors: 2 errors, 4 the start message, 5 the launcher's packets, 6 the
 * runner of commands, where there is one.
 * Sources: "launcher", "bawn-net" (what became of a list, tokens), "runner",
 * "store" (others change it), the timers "command", "commands" and "renewals".
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "keys/profile.h"
#include "keys/server.h"
#include "state/secret_store.h"

enum {
	MESSAGE_FD = 4,
	CONTROL_FD = 5,
	RUNNER_FD = 6,
};

static int serve(struct server *server, struct error *err)
{
	/* Before the loop could take that number. */
	int runner = fcntl(RUNNER_FD, F_GETFD) < 0 ? -1 : RUNNER_FD;
	struct loop *loop = loop_new(err);

	if (!loop || server_init(server, loop, CONTROL_FD, runner, err) < 0 ||
	    server_read_config(server, MESSAGE_FD, err) < 0 ||
	    profile_enter(&server->config, err) < 0 ||
	    server_start(server, err) < 0 || loop_run(loop, err) < 0)
		return -1;
	server_release(server);
	loop_free(loop);
	return server->end ? error_set(err, 0, "%s", server->end) : 0;
}

int main(void)
{
	struct server *server = xcalloc(1, sizeof(*server));
	struct error err = { 0 };
	int result;

	log_identity("bawn-keys", NULL);
	signal(SIGPIPE, SIG_IGN);
	secret_store_wipe_json();
	result = serve(server, &err);
	if (result < 0)
		log_error("%s", err.text);
	free(server);
	return result < 0;
}
