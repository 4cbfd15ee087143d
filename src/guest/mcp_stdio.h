/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_stdio.h - `bawn-mcp NAME`: an MCP server of the host on stdin and stdout
 */
#pragma once

#include <stdbool.h>

#define MCP_STDIO_PATH "/usr/local/bin/bawn-mcp"

bool mcp_stdio_is_meant(const char *argv0);
/* The exit code. */
int mcp_stdio_run(int argc, char **argv);
