/* SPDX-License-Identifier: Apache-2.0 */
/*
 * relay_child.h - who mounts and unmounts for the relay
 *
 * A mount point may lie in another share, which the relay serves: a child
 * walks there. It works on one share and holds no other's /dev/fuse; before
 * it touches what was mounted it closes that one, too. So when the relay dies,
 * the kernel gives all of its file systems up, whatever a child waits for.
 *
 * The first one is forked ahead of a snapshot: a fork costs a start under
 * emulation more than all the rest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "guest/relay_welcome.h"

enum relay_task {
	RELAY_MOUNT,
	RELAY_UNMOUNT,
	RELAY_COVER, /* one that is mounted gets an overlay over it */
};

struct relay_order {
	enum relay_task task;
	unsigned number;
	uint32_t flags, type; /* as in WELCOME */
	bool clear; /* take away what another relay has left, before */
	char path[WELCOME_PATH_MAX + 1];
};

/* What a child says, a byte each; text instead is what went wrong. */
#define RELAY_CHILD_MOUNTED '\n' /* the device can be read, and must be */
#define RELAY_CHILD_USABLE '\r'  /* programs may come */

/* The relay's ends; -1 where there is none. */
struct relay_child {
	int command;
	int report; /* end of file: it is done */
	int device; /* /dev/fuse, for RELAY_MOUNT */
};

#define RELAY_CHILD_NONE ((struct relay_child){ -1, -1, -1 })

/* Forks one that waits; -1 with errno. */
int relay_child_fork(struct relay_child *child);
/* Closes command; -1 with errno. */
int relay_child_start(struct relay_child *child,
		      const struct relay_order *order);
