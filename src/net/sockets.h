/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sockets.h - Unix sockets of the host that a guest shares
 *
 * Which they are is the launcher's business: it connects, and hands over the
 * connected socket. Here they have numbers.
 */
#pragma once

#include <stdint.h>

struct end;
struct flow;
struct gate;

struct sockets {
	struct gate *gate;
};

void sockets_init(struct sockets *sockets, struct gate *gate);
/* A program of the guest connects. Takes client. */
void sockets_open(struct sockets *sockets, struct end *client, uint32_t stream,
		  unsigned index);
/* The launcher's answer; takes fd, -1: it could not connect. */
void sockets_connected(struct sockets *sockets, uint32_t id, int fd);
void sockets_recheck(struct flow *flow);
/* The guest hears which there are. */
void sockets_announce(struct sockets *sockets);
