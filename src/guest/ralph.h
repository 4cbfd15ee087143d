/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ralph.h - `ralph` in the guest: the loop's files, for agents and people
 *
 * The loop itself runs on the host. Here its state can be read, and words and
 * tasks can be left for it, in the same files of the workspace.
 */
#pragma once

#include <stdbool.h>

#define RALPH_PATH "/usr/local/bin/ralph"

/* True when the program was called so. */
bool ralph_is_meant(const char *argv0);
/* The exit code: 0, 64 usage, 125 failure. */
int ralph_run(int argc, char **argv);
/* Makes it and `bawn-mcp` in the machine that has just booted. */
void ralph_install(void);
