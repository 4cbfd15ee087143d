/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.h - ports of the guest that the host's programs can connect to
 *
 * The launcher binds and hands over listening sockets. One that is bound to a
 * loopback address serves the user who made it, and root, and no other user of
 * the host.
 */
#pragma once

#include <stdint.h>

#include "base/list.h"
#include "net/peer_owner.h"

struct error;
struct flow;
struct gate;

struct published {
	struct gate *gate;
	struct list listeners;
	struct peer_owner owner;
	uint32_t last_stream; /* of ours: even */
	unsigned waiting;     /* the guest has not answered */
	uint64_t told_ms;     /* when the launcher last heard of traffic */
};

/* Before the lock. */
int published_init(struct published *published, struct gate *gate,
		   struct error *err);
void published_release(struct published *published);
/* Takes fd. An id that is there already is replaced. */
void published_listen(struct published *published, uint32_t id, int fd);
void published_unlisten(struct published *published, uint32_t id);
/* The guest is connected to its own port. An unknown stream is ignored. */
void published_opened(struct published *published, uint32_t stream);
/* Bytes have passed: an idle sandbox is not one whose ports are used. */
void published_used(struct published *published);
void published_recheck(struct flow *flow);
