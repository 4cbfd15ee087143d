/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h - secrets as bawn-keys tells them
 *
 * One packet is the whole list (bindings.h), in a file of its own:
 *   {"op": "secrets"} with a descriptor  ->  {"op": "taken"} or
 *   {"op": "taken", "error": TEXT}
 * The list holds until the next one comes, also when bawn-keys dies: the
 * launcher starts it again, and the socket stays. A secret that is gone ends
 * the requests that it went along with.
 */
#pragma once

#include "base/loop.h"

struct error;
struct gate;

struct keys {
	struct gate *gate;
	struct source source;
};

/* fd is borrowed; -1: there are no secrets. */
int keys_init(struct keys *keys, struct gate *gate, int fd, struct error *err);
/*
 * Before anything is served: waits for the first list, but not for ever, so
 * that a guest's first request finds its secret.
 */
void keys_wait(struct keys *keys);
void keys_release(struct keys *keys);
