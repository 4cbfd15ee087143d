/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loop_hook.c - the host's command at the end of a loop
 *
 * The command is the user's and is run by the shell. What the agent said goes
 * to it in the environment only, so that no word of a guest is ever a part of
 * a command line.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/child.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "cli/loop_run.h"

#define VARIABLES 5

static size_t count_environment(void)
{
	size_t count = 0;

	while (environ[count])
		count++;
	return count;
}

void loop_run_hook(const struct loop_run *run)
{
	const struct run_state *state = &run->state;
	size_t count = count_environment();
	AUTO_FREE const char **env =
		xcalloc(count + VARIABLES + 1, sizeof(*env));
	AUTO_FREE char *status = xasprintf("BAWN_LOOP_STATUS=%s",
					   run_status_name(state->status));
	AUTO_FREE char *detail =
		xasprintf("BAWN_LOOP_DETAIL=%s", state->detail);
	AUTO_FREE char *name = xasprintf("BAWN_LOOP_NAME=%s", state->name);
	AUTO_FREE char *folder =
		xasprintf("BAWN_LOOP_WORKSPACE=%s", state->workspace);
	AUTO_FREE char *iteration =
		xasprintf("BAWN_LOOP_ITERATION=%u", state->iteration);
	const char *const added[VARIABLES] = { status, detail, name, folder,
					       iteration };
	const char *const argv[] = { "sh", "-c", run->hook, NULL };
	struct child_spec spec = { .path = "/bin/sh",
				   .argv = argv,
				   .env = env };
	struct error err = { 0 };
	struct child child;
	int code = 0;

	if (!run->hook || state->status == RUN_INTERRUPTED)
		return;
	memcpy(env, environ, count * sizeof(*env));
	memcpy(env + count, added, sizeof(added));
	if (child_spawn(&spec, &child, &err) < 0 ||
	    child_wait(&child, &code, &err) < 0)
		fprintf(stderr, "bawn: the hook: %s\n", err.text);
	else if (child_exit_code(code))
		fprintf(stderr, "bawn: the hook ended with code %d\n",
			child_exit_code(code));
}
