/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk_copy.h - a short-lived sandbox on a copy of another's disk
 *
 * The disk is the guest's: nothing on the host reads the file system on it. A
 * machine of its own does, which has no folders, ports, rules or secrets and
 * runs nothing of what is on the disk. It is a sandbox of --rm: when its
 * command dies, the next one removes it.
 */
#pragma once

#include <stdint.h>

#include "cli/store.h"

struct error;

struct disk_copy {
	struct store *store;
	struct sandbox sandbox;
	int owner; /* owned: the lock that says whose it is */
	/* owned: what its second disk is; the machine may write there as long
	 * as it lives, whatever it said */
	int spool;
	uint64_t spool_bytes;
};

#define DISK_COPY_INIT       \
	((struct disk_copy){ \
		.sandbox = SANDBOX_INIT, .owner = -1, .spool = -1 })

/* Of a sandbox in any state; one that runs stands still for a moment. */
int disk_copy_make(struct disk_copy *copy, struct store *store,
		   const struct sandbox *of, struct error *err);
/* Ends and removes it. */
void disk_copy_remove(struct disk_copy *copy);
#define AUTO_DISK_COPY __attribute__((cleanup(disk_copy_remove)))
