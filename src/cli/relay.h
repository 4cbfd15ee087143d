/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h - session frames and our stdin, stdout, stderr
 */
#pragma once

#include <stdbool.h>

struct client_result;
struct control_client;
struct error;

struct relay_setup {
	struct control_client *control; /* after the answer to exec or attach */
	bool tty;
	bool forward_stdin;
	bool may_detach; /* Ctrl-P Ctrl-Q lets go */
};

/* Until the session ends, is lost (-1), or the user lets go. */
int relay_run(const struct relay_setup *setup, struct client_result *result,
	      struct error *err);
