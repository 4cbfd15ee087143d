/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay.h - between the kernel's /dev/fuse and bawn-files on the host
 *
 * A process of its own, forked by PID 1 from the same binary, ahead of any
 * snapshot. It must never wait for anything that it serves: whatever touches
 * a path of a share is done by a child or by the notifier's thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "guest/relay_stream.h"

/* What one relay leaves to the next; in memory that PID 1 shares with it. */
struct relay_shared {
	struct stream_out out;
	/* A new server begins with one of these: the announced one, or once
	 * more the last, when its WELCOME never left. */
	uint8_t markers[2][RECORD_MARKER_BYTES];
	unsigned marker_count;
	/* Changes that were answered early, and how many of them the server
	 * has made since; they wrap. Atomic. */
	uint32_t early, made;
};

/* Messages of the socket between PID 1 and the relay, one a packet. */
enum relay_message_type {
	RELAY_MARKER = 1, /* PID 1: the next server's marker */
	RELAY_TAKEN,      /* relay: it is noted */
	RELAY_READY,      /* relay: all is mounted that can be; text: problem */
	RELAY_FINISH,     /* PID 1: write out, unmount, end */
};

struct relay_message {
	uint32_t type;
	union {
		uint8_t marker[RECORD_MARKER_BYTES];
		char problem[256];
	};
};

struct relay_start {
	int port_fd;    /* all of them are taken */
	int control_fd; /* SOCK_SEQPACKET */
	int log_fd;     /* -1: none */
	struct relay_shared *shared;
	bool again; /* there was one before, in the middle of something */
};

/* Never returns. The caller has just forked. */
_Noreturn void relay_run(const struct relay_start *start);
