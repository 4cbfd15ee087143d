/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_internal.h - what relay.c and relay_ask.c share
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/ring.h"
#include "cli/ask_screen.h"
#include "cli/relay.h"
#include "cli/relay_frames.h"
#include "cli/terminal.h"

struct output {
	int fd;        /* what is written to */
	bool own;      /* fd was opened by us */
	bool gone;     /* nobody reads: what comes is dropped */
	bool may_wait; /* poll before writing */
	struct ring ring;
};

struct relay {
	const struct relay_setup *setup;
	struct relay_frames frames;
	struct output outputs[2]; /* stdout, stderr */
	struct terminal_keys keys;
	int signals; /* signalfd */
	sigset_t old_mask;
	bool raw; /* our terminal passes keys on */
	bool stdin_open;
	bool connection_open;
	uint8_t last_byte; /* of what the session wrote */
	unsigned interrupts;
	bool finished;
	struct client_result *result;

	bool asking; /* a question is on the screen: the session is held */
	struct ask asked;
	struct ask_keys answer;
	int64_t drawn_ms;
	bool drawn_ready; /* the picture says that keys count */
};

/* What poll() waits for, besides the session: -1 and -1 where nothing is. */
int relay_ask_fd(const struct relay *relay);
int relay_ask_timeout(const struct relay *relay);
/*
 * After each round: questions that came or went are shown or taken away. True
 * when the session is held, or was joined anew: the round is over then.
 */
bool relay_ask_step(struct relay *relay, bool told);
/* What was typed while a question is on the screen. */
void relay_ask_typed(struct relay *relay, const uint8_t *typed, size_t len);
/* The terminal has another size. */
void relay_ask_resized(struct relay *relay);
/* Takes a question off the screen without an answer. */
void relay_ask_stop(struct relay *relay);
