/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - the sandboxes on this disk
 *
 * A sandbox appears and vanishes by rename: what is half made or half removed
 * has a name that begins with ".tmp-" and a `lock` that its maker holds. One
 * whose lock is free was left by a process that died.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/own.h"
#include "state/sandbox_record.h"
#include "state/sandbox_removal.h"

struct error;

struct sandbox {
	int folder; /* owned; -1 when not open */
	struct sandbox_record record;
};

#define SANDBOX_INIT ((struct sandbox){ .folder = -1 })

void sandbox_close(struct sandbox *sandbox);
static inline void sandbox_auto(struct sandbox *sandbox)
{
	sandbox_close(sandbox);
}
#define AUTO_SANDBOX __attribute__((cleanup(sandbox_auto)))

struct store {
	int folder;   /* owned: …/sandboxes */
	char **names; /* owned; sorted; NULL-terminated; see store_list() */
	size_t count;
};

void store_close(struct store *store);
static inline void store_auto(struct store *store)
{
	store_close(store);
}
#define AUTO_STORE __attribute__((cleanup(store_auto)))
#define STORE_INIT ((struct store){ .folder = -1 })

/* Opens the folder and lists what is in it. */
int store_open(struct store *store, struct error *err);
int store_list(struct store *store, struct error *err);
/* err->code is ENOENT when there is none; the text then suggests one. */
int store_find(const struct store *store, const char *name,
	       struct sandbox *sandbox, struct error *err);
/* Opens a sandbox by name without listing the rest. */
int sandbox_open(const char *name, struct sandbox *sandbox, struct error *err);

/* One at a time may add or rename sandboxes: the descriptor is the lock. */
int store_lock(const struct store *store, struct error *err);

/*
 * Removes what dead commands left: half-made folders, and sandboxes of --rm
 * whose command and machine are gone. Cheap when there is nothing to do;
 * failures are only logged, since the command itself did not ask for it.
 */
void store_clean(struct store *store);
/* Counts what store_clean() would remove. */
size_t store_leftovers(const struct store *store);

/*
 * Takes the sandbox out of sight and deletes its files. The machine must be
 * gone (EBUSY otherwise); waits for a command that changes the sandbox. A
 * sandbox that is gone already is fine.
 */
int store_remove(const struct store *store, const char *name,
		 struct error *err);

#define STORE_LOCK_FILE SANDBOX_LOCK_FILE
#define STORE_ALIVE_FILE SANDBOX_ALIVE_FILE
#define STORE_FRESH_FILE "fresh"
/* --rm: there is such a file, and the command that made it holds its lock */
#define STORE_OWNER_FILE SANDBOX_OWNER_FILE
#define STORE_DISK_FILE SANDBOX_MACHINE_FOLDER "/disk.qcow2"
/* what a machine that saves writes, as a disk of its own */
#define STORE_SPOOL_FILE "spool"
#define STORE_ENV_FILE "env.json"
/* in machine/ */
#define STORE_CONSOLE_FILE "console.log"
#define STORE_SUPERVISOR_LOG "supervisor.log"
