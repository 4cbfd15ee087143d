/* SPDX-License-Identifier: Apache-2.0 */
/*
 * host_keys.h - the ssh host keys of a machine are its own
 *
 * A template has the keys that its packages made, and a fork its parent's. When
 * the machine-id is another one than that of the keys they are removed before
 * any program runs, and made anew beside everything else, since that takes long
 * under emulation; sshd reads them then. Whose they are lies in memory, and for
 * a boot in an attribute of the folder.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define HOST_KEYS_ID_BYTES 16

struct host_keys {
	const char *root; /* "", or where the machine's root lies */
	bool woken;       /* id is the one that this machine had */
	bool any;         /* there are keys; as of host_keys_note() */
	uint8_t id[HOST_KEYS_ID_BYTES];
	pid_t maker;     /* of new ones; 0: nobody */
	unsigned making; /* what it makes: one bit a type */
};

/* Before a snapshot and before the end: these keys are this machine's. */
void host_keys_note(struct host_keys *keys);
/* Before programs run. What fails is logged. */
void host_keys_wake(struct host_keys *keys,
		    const uint8_t id[HOST_KEYS_ID_BYTES]);
/* true when it was the maker that ended. */
bool host_keys_on_exit(struct host_keys *keys, pid_t pid);
