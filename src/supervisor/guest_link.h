/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest_link.h - the supervisor's end of the port bawn.control
 *
 * Moves bytes between the port and the mux, decodes messages, and keeps the
 * epochs (PROTOCOL.md §1). Everything that comes out of it was chosen by the
 * guest.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"
#include "proto/messages.h"
#include "proto/mux.h"

struct error;

struct guest_link_ops {
	void (*on_message)(void *ctx, const struct message *message);
	void (*on_stream)(void *ctx, struct mux_stream *stream);
	/* The restored guest has answered with the marker. */
	void (*on_marker)(void *ctx);
	/* The guest broke the protocol. Called once. */
	void (*on_broken)(void *ctx, const char *why);
	/* QEMU has closed the port: it is ending. Called once. */
	void (*on_closed)(void *ctx);
};

struct guest_link {
	const struct guest_link_ops *ops;
	void *ctx;
	struct mux mux;

	/* private */
	struct source source;
	struct loop *loop;
	bool frozen, broken;
	bool hold, held;  /* nothing more is to be, is sent */
	bool busy;        /* inside the mux: its output is taken afterwards */
	char why[200];    /* a callback found the guest at fault */
	uint8_t *scratch; /* owned: for encoding messages */
};

/* Takes fd. */
int guest_link_open(struct guest_link *link, struct loop *loop, int fd,
		    const struct guest_link_ops *ops, void *ctx,
		    struct error *err);
void guest_link_close(struct guest_link *link);

/* Begins an epoch: sends the marker and expects it back. */
void guest_link_restart(struct guest_link *link,
			const uint8_t marker[MUX_MARKER_BYTES]);
/* -1 when it does not fit a message (EMSGSIZE) or the guest is stuck. */
int guest_link_send(struct guest_link *link, const struct message *message,
		    struct error *err);
/* Writes what the port takes now; call after writing to streams. */
void guest_link_flush(struct guest_link *link);
/* Reads and writes nothing any more: a snapshot is being taken. */
void guest_link_freeze(struct guest_link *link);
/* What was sent before leaves, then nothing until it is let go again. */
void guest_link_hold(struct guest_link *link, bool hold);
/* QEMU has ended: takes what the guest had sent before. */
void guest_link_drain(struct guest_link *link);
/* For a callback that finds the content of a message impossible. */
void guest_link_blame(struct guest_link *link, const char *why);
