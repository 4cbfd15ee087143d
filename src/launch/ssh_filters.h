/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ssh_filters.h - connections of a guest to the host's ssh-agent
 *
 * Each has a bawn-ssh between bawn-net and the agent, which lets through
 * nothing but lists of the keys that were named and signatures with them.
 */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "base/child.h"
#include "base/loop.h"

struct error;

#define SSH_FILTERS_MAX 16

struct ssh_filter {
	struct source end; /* owns the pidfd; -1: free */
	struct child child;
};

struct ssh_filters {
	struct loop *loop; /* borrowed */
	uid_t uid;         /* that bawn-ssh takes when we are root; 0: none */

	/* private */
	struct ssh_filter list[SSH_FILTERS_MAX];
};

void ssh_filters_init(struct ssh_filters *filters, struct loop *loop);
/* {"socket", "keys"} of the settings, checked; 0 or -1. Pure. */
int ssh_filters_check(json_t *agent, struct error *err);
/* A connection that is the caller's, for bawn-net; -1. */
int ssh_filters_connect(struct ssh_filters *filters, const json_t *agent,
			struct error *err);
/* They end with their connections; what is still there is ended. */
void ssh_filters_release(struct ssh_filters *filters);
