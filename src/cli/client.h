/* SPDX-License-Identifier: Apache-2.0 */
/*
 * client.h - a session: this terminal or these pipes, and a process in the
 * guest (PROTOCOL.md §6)
 */
#pragma once

#include <stdbool.h>

struct control_client;
struct error;
struct relay_ask;
struct relay_filter;

struct client_request {
	const char *const *argv; /* NULL-terminated */
	char *const *env;        /* NULL-terminated "K=V"; may be NULL */
	const char *folder;      /* "" = the user's home */
	const char *user;        /* "" = agent */
	bool tty;
	bool forward_stdin;
	bool detach;      /* start it and come back */
	bool main;        /* the agent's session */
	bool make_folder; /* if it is missing */
	int *lock;        /* closed and set to -1 at the answer; may be NULL */
	int *turn;        /* the same */
	const struct relay_filter *filter; /* of its output; may be NULL */
	struct relay_ask *ask;             /* questions; may be NULL */
};

enum client_end {
	CLIENT_EXITED,   /* exit_code is the command's */
	CLIENT_DETACHED, /* the user let go; the session lives on */
};

struct client_result {
	enum client_end end;
	int exit_code; /* as shells count; 141 when our own reader has gone */
};

/* err->code and stage of a refused exec: 126 and 127 come from it. */
struct client_refusal {
	char stage[16]; /* "user", "folder", "exec", "other"; "" otherwise */
};

/*
 * Runs a session to its end or until the user lets go. The connection cannot
 * be used afterwards unless request->detach. refusal may be NULL.
 */
int client_exec(struct control_client *control,
		const struct client_request *request,
		struct client_result *result, struct client_refusal *refusal,
		struct error *err);
/* Opens a session and leaves its frames to the caller. */
int client_open(struct control_client *control,
		const struct client_request *request,
		struct client_refusal *refusal, struct error *err);
/* Joins the agent's session; err->code ENOENT when there is none. */
int client_attach(struct control_client *control, struct relay_ask *ask,
		  struct client_result *result, struct error *err);
/* The same, and leaves its frames to the caller. */
int client_join(struct control_client *control, struct error *err);
