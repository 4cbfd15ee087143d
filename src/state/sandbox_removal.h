/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox_removal.h - take a sandbox out of sight, then delete its files
 *
 * Used by commands and by the launcher of a sandbox of --rm. A sandbox appears
 * and vanishes by rename; what is half made or half removed has a name that
 * begins with ".tmp-".
 */
#pragma once

#include <stdbool.h>

struct error;

#define SANDBOX_TEMPORARY ".tmp-"
/* In the folder of all sandboxes: one at a time may add or rename. */
#define SANDBOX_GLOBAL_LOCK ".lock"
/* In a sandbox's folder. */
#define SANDBOX_LOCK_FILE "lock"
#define SANDBOX_OWNER_FILE "owner"
#define SANDBOX_MACHINE_FOLDER "machine"
#define SANDBOX_ALIVE_FILE SANDBOX_MACHINE_FOLDER "/alive"

/* A name that nobody else uses: ".tmp-" and random digits. */
void sandbox_temporary_name(char name[32]);
/*
 * sandboxes: the folder of all. The machine must be gone (EBUSY otherwise).
 * Waits for a command that changes the sandbox, or with wait false fails with
 * EWOULDBLOCK. A sandbox that is gone already is fine.
 */
int sandbox_remove(int sandboxes, const char *name, bool wait,
		   struct error *err);
/* The one in this folder, not one that has got its name since. */
int sandbox_remove_this(int sandboxes, const char *name, int folder, bool wait,
			struct error *err);
