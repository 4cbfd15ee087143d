/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_relay.h - between the programs' connections and bawn-net on the host
 *
 * A process of its own, forked by PID 1 from the same binary, ahead of any
 * snapshot. It decides nothing: every connection and every question for a name
 * goes to the host, and without the host nothing goes anywhere.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "proto/net_messages.h"

/* The announced one, the one before it, and the one of the next snapshot. */
enum {
	NET_MARKER_NEXT,
	NET_MARKER_LAST,
	NET_MARKER_PREPARED,

	NET_MARKERS,
};

/*
 * What one relay leaves to the next, and what PID 1 tells it; in memory that
 * they share. PID 1 writes the marker of a snapshot, the relay all else.
 */
struct net_shared {
	/* Zeros: there is none. */
	uint8_t markers[NET_MARKERS][NET_MARKER_BYTES];
};

/* Descriptors that PID 1 holds as well, so that they outlive a relay. */
enum net_relay_fd {
	NET_RELAY_FD_PORT,     /* bawn.net */
	NET_RELAY_FD_LOG,      /* -1: none */
	NET_RELAY_FD_TCP,      /* listens: where connections are redirected */
	NET_RELAY_FD_UDP,      /* where questions for names are redirected */
	NET_RELAY_FD_FORWARD,  /* listens: transparent, IPv4 loopback */
	NET_RELAY_FD_FORWARD6, /* the same, IPv6; -1: no IPv6 here */

	NET_RELAY_FDS,
};

struct net_relay_start {
	int fds[NET_RELAY_FDS]; /* all of them are taken */
	struct net_shared *shared;
	bool again; /* there was one before, in the middle of something */
};

/* Opens the listening ones of fds; -1 with errno. */
int net_relay_listen(int fds[NET_RELAY_FDS]);
/* Never returns. The caller has just forked. */
_Noreturn void net_relay_run(const struct net_relay_start *start);
