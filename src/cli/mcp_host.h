/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mcp_host.h - MCP servers of the host for a sandbox, as long as a command runs
 *
 * `--mcp NAME=CMD` gives the sandbox a socket, at which this command listens.
 * `create` keeps what it was given, and each later command that names none
 * listens instead; of several at once one does, and then the next.
 * Each connection has a process of its own, which starts CMD, locks itself, and
 * passes on what mcp_line.h takes. Calls are written to mcp.jsonl of the
 * sandbox's folder. In the guest `bawn-mcp NAME` is the server.
 */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "cli/mcp_line.h"

struct error;
struct options;
struct sandbox;
struct socket_list;

/* The host's side of the record; net_config.c says where that is. */
#define MCP_HOST_PREFIX "/bawn-mcp/"
#define MCP_HOST_SOCKETS 16
#define MCP_HOST_KEPT "mcp.json"
#define MCP_HOST_LOG "mcp.jsonl"
#define MCP_HOST_LOG_OLD "mcp.jsonl.1"

struct mcp_host {
	pid_t pid; /* 0: there is none */
};

/* Of the request: a socket for each name. */
int mcp_host_sockets(const struct options *options, struct socket_list *sockets,
		     struct error *err);
/* The name of the socket's file in the sandbox's folder. */
void mcp_host_file(const char *name, char out[MCP_NAME_MAX + 16]);
/* Where a socket of the record lies, whatever it is for; malloc'd. */
char *mcp_host_path(const char *sandbox, const char *host, struct error *err);

/* Words of --mcp; NULL: there is none. options may be NULL. */
json_t *mcp_host_given(const struct options *options);
/* For the commands to come: what the options have. */
int mcp_host_keep(int folder, const struct options *options, struct error *err);
/* What was kept; NULL: nothing, or nothing that could be used. */
json_t *mcp_host_kept(int folder);

/* With options that name none, or NULL: what was kept. */
int mcp_host_start(struct mcp_host *host, const struct sandbox *sandbox,
		   const struct options *options, struct error *err);
/* Ends the servers, too. */
void mcp_host_stop(struct mcp_host *host);
#define AUTO_MCP_HOST __attribute__((cleanup(mcp_host_stop)))

/* mcp_pump.c */
struct mcp_pump {
	const char *name, *command, *folder; /* where CMD starts */
	int guest;                           /* the connection */
	int log;                             /* for appending */
};

/* Serves until one side ends; never returns. */
_Noreturn void mcp_pump_serve(const struct mcp_pump *pump);
