/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peer_owner.h - which user of this host a local connection comes from
 *
 * TCP does not say; the kernel does, by sock_diag. The socket for that is made
 * before this process gives up making such sockets.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct error;

struct peer_owner {
	int fd; /* owned; -1: this kernel does not tell */
};

int peer_owner_open(struct peer_owner *owner, struct error *err);
void peer_owner_release(struct peer_owner *owner);
/* Of the socket at the other end of this one. -1: nobody knows. */
int peer_owner_find(const struct peer_owner *owner, int fd, uid_t *uid);
/* Is this listening socket bound to a loopback address? */
bool peer_owner_is_loopback(int fd);
