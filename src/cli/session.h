/* SPDX-License-Identifier: Apache-2.0 */
/*
 * session.h - a session in a sandbox, as `run` and `exec` open one
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct error;
struct relay_ask;
struct relay_filter;
struct sandbox;
struct start;

struct session_wish {
	const json_t *variables; /* of this session alone; may be NULL */
	const json_t *keys; /* keys of this session (keys.h); may be NULL */
	const char *user;   /* NULL: agent */
	const char *folder; /* NULL: the workspace */
	bool tty, forward_stdin, detach;
	bool named_agent; /* by the user: not the image's own command */
	const struct relay_filter *filter; /* of its output; may be NULL */
	struct relay_ask *ask;             /* session_agent() opens its own */
};

/* The exit code; negative with err set, as commands return it. */
int session_exec(const struct sandbox *sandbox, struct start *start,
		 const char *const *argv, const struct session_wish *wish,
		 struct error *err);
/* As session_exec(), but the caller takes the frames. 0, or negative. */
int session_open(const struct sandbox *sandbox, struct start *start,
		 const char *const *argv, const struct session_wish *wish,
		 struct error *err);
/*
 * The agent's session. Without args and on a terminal it joins one that is
 * live. let_go is set when the user left it running.
 */
int session_agent(const struct sandbox *sandbox, struct start *start,
		  const char *const *args, const struct session_wish *wish,
		  bool *let_go, struct error *err);
