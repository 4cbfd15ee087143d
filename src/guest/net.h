/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.h - PID 1's side of the network: interface, rules, relay
 *
 * PID 1 sets up what leads connections to the relay, keeps the port and the
 * listening sockets open, and starts the relay again when somebody killed it:
 * with the rules as they were, whatever root in the guest has done to them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "guest/net_relay.h"

#define NET_PORT_NAME "bawn.net"

struct net {
	struct loop *loop;
	int fds[NET_RELAY_FDS]; /* owned; -1 each: this machine has none */
	pid_t pid;              /* 0 = does not run */
	struct net_shared *shared;
	struct timer again;
	unsigned deaths;
	uint64_t first_death_ms;
};

/* A machine without the port, or a kernel without the rules, is fine. */
void net_start(struct net *net, struct loop *loop);
/* True when pid was the relay; it is started again. */
bool net_on_exit(struct net *net, pid_t pid);
/* The marker of the server after the next restore. */
void net_prepare(struct net *net, const uint8_t marker[NET_MARKER_BYTES]);
