/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_facts.h - what bawn-net must know of the host's network
 *
 * Name servers, the hosts file and the addresses of the host's interfaces, read
 * at the start and again when they change: a laptop moves, a VPN comes up.
 * Without a way to watch (some containers) the first reading stays.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "base/loop.h"

struct error;

#define HOST_FACTS_ADDRESSES_MAX 1024

struct host_facts {
	json_t *resolver; /* owned: {"servers": […], "hosts": [[…, …]…]} */
	json_t *addresses; /* owned: texts */
	void (*on_change)(void *ctx);
	void *ctx;

	/* private */
	struct loop *loop; /* borrowed */
	struct source files, links;
	struct timer settle;
	bool settling;
};

int host_facts_open(struct host_facts *facts, struct loop *loop,
		    struct error *err);
void host_facts_release(struct host_facts *facts);
