/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp.h - sandboxes as tools of another agent: the Model Context Protocol
 *
 * JSON-RPC, one message a line. A tool is a row: the words of a bawn command,
 * and parameters that become its options and words; so that a tool can do
 * nothing that the user could not type.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct error;

#define MCP_LINE_MAX (1024u * 1024)
#define MCP_ARGV_MAX 32

enum mcp_kind {
	MCP_TEXT,
	MCP_NAME,   /* of a sandbox */
	MCP_FOLDER, /* an absolute path */
	MCP_STDIN,  /* a text that the command reads */
};

struct mcp_param {
	const char *name;
	enum mcp_kind kind;
	bool required;
	const char *option;   /* "--template"; NULL: a word by itself */
	const char *fallback; /* the word when none was given; NULL: left out */
	const char *help;
};

struct mcp_tool {
	const char *name;
	const char *help;
	bool changes; /* not offered with --read-only */
	bool quiet;   /* says nothing of its own when it went well */
	const char *const *words;       /* of the command; NULL-terminated */
	const struct mcp_param *params; /* in the order of the words */
};

/* Ends in a row without a name. */
extern const struct mcp_tool mcp_tools[];

/* An order: what one call runs. The texts are borrowed from its arguments. */
struct mcp_order {
	const char *argv[MCP_ARGV_MAX + 1];
	size_t argc;
	const char *input; /* NULL: none */
};

const struct mcp_tool *mcp_tool_find(const char *name, bool read_only);
/* As `tools/list` shows it. Caller owns it. */
json_t *mcp_tool_describe(const struct mcp_tool *tool);
/* -1: what is wrong with the arguments. Pure. */
int mcp_order_make(const struct mcp_tool *tool, const json_t *arguments,
		   struct mcp_order *order, struct error *err);

struct mcp_output {
	int exit_code;
	char *out, *err; /* malloc'd; valid UTF-8 */
};
void mcp_output_release(struct mcp_output *output);
/* What a program printed, as text that JSON can hold. malloc'd. Pure. */
char *mcp_text(const void *bytes, size_t len);

typedef int mcp_run_fn(void *ctx, const struct mcp_order *order,
		       struct mcp_output *output, struct error *err);

struct mcp {
	bool read_only;
	mcp_run_fn *run;
	void *ctx;
};

/* The answer to a line; NULL when none is due. Caller owns it. */
json_t *mcp_answer(const struct mcp *mcp, const char *line, size_t len);
