/* SPDX-License-Identifier: Apache-2.0 */
/*
 * published.h - listening sockets of the host for ports of the guest
 *
 * The launcher binds and keeps them, bawn-net accepts: a listener outlives a
 * bawn-net. Each has a number that is never used twice, so that a message about
 * one cannot be taken for a message about another.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "state/port_list.h"

struct error;

#define PUBLISHED_WHY_MAX 160

struct published_port {
	uint32_t id;
	struct port_record port;
	int fd; /* owned; -1: could not be bound */
	char why[PUBLISHED_WHY_MAX];
};

struct published {
	struct published_port items[PORT_LIST_MAX];
	size_t count;
	uint32_t last_id;
};

enum published_mode {
	PUBLISHED_START,  /* what cannot be bound is left out, and why is set */
	PUBLISHED_CHANGE, /* a new one that cannot be bound is an error */
};

/*
 * A list for these ports, after `now`, which stays as it is: what both have is
 * shared. next must be released, also after a failure.
 */
int published_follow(const struct published *now, const struct port_list *ports,
		     enum published_mode mode, struct published *next,
		     struct error *err);
/* Those of `now` whose place `next` does not have take no connection more. */
void published_stop(const struct published *now, const struct published *next);
const struct published_port *published_find(const struct published *list,
					    uint32_t id);
/* [{"id", "port"}…] of those that listen, for bawn-net. */
json_t *published_for_net(const struct published *list);
/* [{"address", "host", "guest", "error"}…] of all, for a client. */
json_t *published_for_client(const struct published *list);
void published_release(struct published *list);
