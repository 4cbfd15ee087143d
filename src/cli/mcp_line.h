/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_line.h - one message between a guest and an MCP server of the host
 *
 * A line is an object of JSON-RPC 2.0. Nothing else passes, in neither
 * direction; lists of messages neither, which MCP has given up. Pure.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#define MCP_LINE_MAX (4u << 20)
#define MCP_NAME_MAX 32

enum mcp_kind {
	MCP_REQUEST,
	MCP_NOTIFICATION,
	MCP_RESULT,
	MCP_FAILURE,

	MCP_KINDS,
};

struct mcp_line {
	enum mcp_kind kind;
	/* printable, and cut */
	char method[65];
	char tool[129]; /* of tools/call */
	char id[65];    /* "": none */
};

/* Without its newline. -1: no such message. */
int mcp_line_parse(const char *bytes, size_t len, struct mcp_line *line);
/* What the log keeps of it; the caller's. from: "guest" or "server". */
json_t *mcp_line_log(const struct mcp_line *line, const char *server,
		     const char *from, size_t bytes);
/* a-z, 0-9 and "-", as in `--mcp NAME=CMD`. Where CMD begins, or NULL. */
const char *mcp_line_command(const char *word, char name[MCP_NAME_MAX + 1]);
