/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h - session frames and our stdin, stdout, stderr
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/ask_mark.h"
#include "cli/ask_watch.h"

struct client_result;
struct control_client;
struct error;
struct sandbox;

/*
 * What is done with a session's output before it is ours: how many of the bytes
 * are passed on, changed in place or not; -1 ends the session.
 */
struct relay_filter {
	long (*take)(void *ctx, bool is_error, uint8_t *bytes, size_t len,
		     struct error *err);
	void *ctx;
};

/* Questions about the network that are put to who sits at the terminal. */
struct relay_ask {
	const struct sandbox *sandbox; /* borrowed */
	struct ask_watch watch;
	char mark[ASK_MARK_SIZE];
};

#define RELAY_ASK_INIT ((struct relay_ask){ .watch = ASK_WATCH_INIT })

struct relay_setup {
	struct control_client *control; /* after the answer to exec or attach */
	bool tty;
	bool forward_stdin;
	bool may_detach;                   /* Ctrl-P Ctrl-Q lets go */
	const struct relay_filter *filter; /* may be NULL */
	struct relay_ask *ask;             /* of a main session; may be NULL */
};

/* Until the session ends, is lost (-1), or the user lets go. */
int relay_run(const struct relay_setup *setup, struct client_result *result,
	      struct error *err);
