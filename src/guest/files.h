/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files.h - PID 1's side of the files relay
 *
 * PID 1 starts the relay, starts it again when somebody killed it, and never
 * touches a path that it serves. It keeps the port open and the memory with
 * what was under way; the file systems of a dead relay are given up by the
 * kernel, and the next relay mounts new ones in their place.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"
#include "guest/relay.h"

#define FILES_PORT_NAME "bawn.files"
#define FILES_WAIT_MS 10000 /* for the folders, before programs may start */

struct files {
	struct loop *loop;
	int port_fd;           /* owned; -1: this machine has none */
	pid_t pid;             /* 0 = does not run */
	struct source control; /* fd owned */
	struct relay_shared *shared;
	char problem[256]; /* of the last report */
	bool finishing;
	unsigned deaths;
	uint64_t first_death_ms;
	/* The relay has mounted what it can. */
	void (*on_ready)(void *ctx);
	void *ctx;
};

/* The callback is set by the caller. A machine without the port is fine. */
void files_start(struct files *files, struct loop *loop);
/* Can folders come at all? */
bool files_works(const struct files *files);
/*
 * What programs have changed up to now, as a number, and whether the host has
 * it: the relay tells a program that a write is done before it is.
 */
uint32_t files_changes(const struct files *files);
bool files_has(const struct files *files, uint32_t changes);
/* True when pid was the relay; it is started again unless we are ending. */
bool files_on_exit(struct files *files, pid_t pid);
/* The marker of the server after the next restore; waits until it is noted. */
void files_prepare(struct files *files,
		   const uint8_t marker[RECORD_MARKER_BYTES]);
/* Writes out, unmounts, ends; files_on_exit() tells when. */
void files_finish(struct files *files);
