/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run_options.c - options that run and create share
 */
#include "cli/run_options.h"

#define LATER(name, letter, kind)                                   \
	{                                                           \
		name, letter, kind, "VALUE", "", NULL, OPTION_LATER \
	}

const struct option_row run_options[] = {
	{ "name", '\0', OPTION_VALUE, "NAME", "the sandbox's name",
	  COMPLETE_SANDBOXES, OPTION_HERE },
	{ "template", 't', OPTION_VALUE, "TEMPLATE",
	  "what its root file system is made from (base, tiny)",
	  COMPLETE_TEMPLATES, OPTION_HERE },
	{ "cpus", '\0', OPTION_VALUE, "N",
	  "virtual CPUs (all of the host's up to 8)", NULL, OPTION_HERE },
	{ "memory", 'm', OPTION_VALUE, "SIZE",
	  "memory (4G, at most half of the host's)", NULL, OPTION_HERE },
	{ "disk", '\0', OPTION_VALUE, "SIZE",
	  "size of its disk, which takes room as it fills (100G)", NULL,
	  OPTION_HERE },
	{ "env", 'e', OPTION_LIST, "KEY=VALUE",
	  "a variable of its sessions; KEY alone takes the host's value", NULL,
	  OPTION_HERE },
	{ "env-file", '\0', OPTION_LIST, "FILE",
	  "variables from a file, one KEY=VALUE a line", COMPLETE_FILES,
	  OPTION_HERE },
	{ "accel", '\0', OPTION_VALUE, "auto|kvm|tcg",
	  "hardware virtualisation or emulation (auto)", "auto|kvm|tcg",
	  OPTION_HERE },
	{ "isolation", '\0', OPTION_VALUE, "microvm", "the kind of boundary",
	  "microvm", OPTION_HERE },
	{ "cold", '\0', OPTION_FLAG, NULL,
	  "boot it instead of restoring a warm image", NULL, OPTION_HERE },
	{ "volume", 'v', OPTION_LIST, "HOST:GUEST[:ro]",
	  "share a folder or file at another path too", COMPLETE_FILES,
	  OPTION_HERE },
	{ "workspace-mode", '\0', OPTION_VALUE, "direct|overlay|clone",
	  "where the sandbox's changes go (direct: to the host)",
	  "direct|overlay|clone", OPTION_HERE },
	{ "clone", '\0', OPTION_FLAG, NULL, "same as --workspace-mode clone",
	  NULL, OPTION_HERE },
	{ "with-changes", '\0', OPTION_FLAG, NULL,
	  "clone mode: carry uncommitted work in too", NULL, OPTION_HERE },
	{ "hide", '\0', OPTION_LIST, "GLOB",
	  "paths that the sandbox does not see, as in .gitignore", NULL,
	  OPTION_HERE },
	{ "quota", '\0', OPTION_VALUE, "SIZE[,FILES]",
	  "how much it may add to each shared folder", NULL, OPTION_HERE },
	{ "force", '\0', OPTION_FLAG, NULL, "share / or your home folder too",
	  NULL, OPTION_HERE },
	LATER("pull", '\0', OPTION_LIST),
	LATER("publish", 'p', OPTION_LIST),
	LATER("policy", '\0', OPTION_LIST),
	LATER("allow", '\0', OPTION_LIST),
	LATER("deny", '\0', OPTION_LIST),
	LATER("inspect", '\0', OPTION_LIST),
	LATER("socket", '\0', OPTION_LIST),
	LATER("git-identity", '\0', OPTION_LIST),
	LATER("idle", '\0', OPTION_LIST),
	LATER("load-local-template", '\0', OPTION_FLAG),
	LATER("ask", '\0', OPTION_FLAG),
	LATER("ssh-agent", '\0', OPTION_FLAG),
	{ "mount-docker-socket", '\0', OPTION_FLAG, NULL,
	  "the host's Docker socket is root on the host; every sandbox has a "
	  "Docker of its own",
	  NULL, OPTION_REFUSED },
	{ .name = NULL },
};
