/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h - session frames and our stdin, stdout, stderr
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client_result;
struct control_client;
struct error;

/*
 * What is done with a session's output before it is ours: how many of the bytes
 * are passed on, changed in place or not; -1 ends the session.
 */
struct relay_filter {
	long (*take)(void *ctx, bool is_error, uint8_t *bytes, size_t len,
		     struct error *err);
	void *ctx;
};

struct relay_setup {
	struct control_client *control; /* after the answer to exec or attach */
	bool tty;
	bool forward_stdin;
	bool may_detach;                   /* Ctrl-P Ctrl-Q lets go */
	const struct relay_filter *filter; /* may be NULL */
};

/* Until the session ends, is lost (-1), or the user lets go. */
int relay_run(const struct relay_setup *setup, struct client_result *result,
	      struct error *err);
