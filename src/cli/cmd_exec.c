/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_exec.c - exec
 */
#include "cli/command.h"

#include <jansson.h>
#include <unistd.h>

#include "base/error.h"
#include "base/own.h"
#include "cli/blocked.h"
#include "cli/keys.h"
#include "cli/mcp_host.h"
#include "cli/session.h"
#include "cli/start.h"
#include "cli/store.h"
#include "cli/variables.h"

AUTO_DEFINE(json, json_t *, json_decref)

/* Once more when the sandbox was just being stopped. */
static int start_and_exec(struct sandbox *sandbox,
			  const struct session_wish *wish,
			  const char *const *argv, struct error *err)
{
	/* keys go to its launcher, which must be there */
	bool has_keys = json_array_size(wish->keys) > 0;
	enum start_wait wait = has_keys ? START_WAIT : START_NO_WAIT;
	int result;

	for (;;) {
		AUTO_START struct start start = START_INIT;

		if (start_sandbox(sandbox, NULL, wait, &start, err) < 0 ||
		    (has_keys && keys_tell(sandbox, wish->keys, err) < 0))
			return -1;
		result = session_exec(sandbox, &start, argv, wish, err);
		if (result >= 0 || !start_was_ending(sandbox, &start, err))
			return result;
	}
}

static int run(const struct options *options, struct error *err)
{
	AUTO(json) json_t *variables = json_object();
	AUTO(json) json_t *keys = NULL;
	AUTO_SANDBOX struct sandbox sandbox = SANDBOX_INIT;
	bool interactive = options_flag(options, "interactive");
	struct session_wish wish = {
		.variables = variables,
		.user = options_value(options, "user"),
		.folder = options_value(options, "workdir"),
		.tty = options_flag(options, "tty"),
		.detach = options_flag(options, "detach"),
	};
	AUTO_MCP_HOST struct mcp_host mcp = { 0 };
	struct blocked_mark mark;
	int result;

	if (!options->rest_count)
		return options_usage(err, "usage: bawn exec %s",
				     command_exec.arguments);
	if (wish.tty && interactive && !wish.detach && !isatty(0))
		return error_set(err, 0,
				 "stdin is no terminal (leave -t away)");
	wish.forward_stdin = interactive && !wish.detach;
	if (variables_from_options(variables, options, err) < 0 ||
	    sandbox_open(options->words[0], &sandbox, err) < 0)
		return -1;
	keys = keys_session(&sandbox, options, variables, err);
	if (!keys ||
	    (!wish.detach && mcp_host_start(&mcp, &sandbox, NULL, err) < 0))
		return -1;
	wish.keys = keys;
	mark = blocked_begin(&sandbox);
	result = start_and_exec(&sandbox, &wish,
				(const char *const *)options->rest, err);
	if (result > 0 && !wish.detach)
		blocked_report(&sandbox, &mark);
	return result;
}

static const struct option_row rows[] = {
	{ "interactive", 'i', OPTION_FLAG, NULL, "pass stdin on", NULL,
	  OPTION_HERE },
	{ "tty", 't', OPTION_FLAG, NULL, "give it a terminal", NULL,
	  OPTION_HERE },
	{ "user", 'u', OPTION_VALUE, "USER[:GROUP]",
	  "run as this user, by name or number (agent)", NULL, OPTION_HERE },
	{ "workdir", 'w', OPTION_VALUE, "DIR",
	  "start in this folder of the sandbox (the workspace)", NULL,
	  OPTION_HERE },
	{ "env", 'e', OPTION_LIST, "KEY=VALUE",
	  "a variable; KEY alone takes the host's value", NULL, OPTION_HERE },
	{ "env-file", '\0', OPTION_LIST, "FILE",
	  "variables from a file, one KEY=VALUE a line", COMPLETE_FILES,
	  OPTION_HERE },
	{ "detach", 'd', OPTION_FLAG, NULL,
	  "start it and come back; its output is dropped", NULL, OPTION_HERE },
	{ .name = NULL },
};

const struct command command_exec = {
	.name = "exec",
	.arguments = "NAME CMD [ARGS...]",
	.help = "run a command in a sandbox, started if it is stopped",
	.details = "Options come before NAME. The exit code is the command's; "
		   "125 is a failure of bawn,\n126 a command that cannot be "
		   "executed, 127 one that is not there.",
	.options = rows,
	.completes = COMPLETE_SANDBOXES,
	.flags = COMMAND_STOPS_EARLY | COMMAND_USES_STORE,
	.min_words = 1,
	.max_words = 1,
	.failure_code = 125,
	.run = run,
};
