/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_options.c - options that run and create share
 */
#include "cli/run_options.h"

const struct option_row run_options[] = {
	{ "name", '\0', OPTION_VALUE, "NAME", "the sandbox's name",
	  COMPLETE_SANDBOXES, OPTION_HERE },
	{ "isolation", '\0', OPTION_VALUE, "microvm", "the kind of boundary",
	  "microvm", OPTION_HERE },
	{ "ask", '\0', OPTION_FLAG, NULL,
	  "hold a connection that no rule matches, and ask", NULL,
	  OPTION_HERE },
	{ "publish", 'p', OPTION_LIST, "[[IP:]HOST:]PORT",
	  "make its port reachable on the host (on 127.0.0.1)", NULL,
	  OPTION_HERE },
	{ "git-identity", '\0', OPTION_VALUE, "on|off",
	  "commit inside under the name of your git (on)", "on|off",
	  OPTION_HERE },
	{ "ssh-agent", '\0', OPTION_MAYBE, "[=KEY,...]",
	  "let it sign with keys of your ssh-agent: comment, SHA256:... or a "
	  ".pub file",
	  NULL, OPTION_HERE },
	{ "idle", '\0', OPTION_VALUE, "TIME",
	  "suspend it after so long without work (10m); 0: never", NULL,
	  OPTION_HERE },
	{ "mount-docker-socket", '\0', OPTION_FLAG, NULL,
	  "the host's Docker socket is root on the host; every sandbox has a "
	  "Docker of its own",
	  NULL, OPTION_REFUSED },
	{ .name = NULL },
};
