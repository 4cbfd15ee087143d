/* SPDX-License-Identifier: Apache-2.0 */
/*
 * files_sync.h - what programs wrote to mapped shared files goes to the host
 *
 * A page that is written through a mapping stays in the guest's memory for a
 * while. A snapshot must not hold such pages: after a restore they would
 * replace what the host wrote since. PID 1 never waits for a server by itself,
 * so a child does, and for a bounded time.
 */
#pragma once

#include <sys/types.h>

struct files_sync {
	pid_t pid; /* of the child; 0: none */
	int go;    /* owned: closed, it goes on; or -1 */
};

/* Begins while programs still run: most is written then. */
void files_sync_begin(struct files_sync *sync);
/* They stand still: writes out the rest, or gives up after a while. */
void files_sync_end(struct files_sync *sync);
