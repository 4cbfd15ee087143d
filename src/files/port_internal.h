/* SPDX-License-Identifier: Apache-2.0 */
/*
 * port_internal.h - what port.c and port_rings.c share
 */
#pragma once

#include "files/port.h"

/* As many bytes as there is room for; 0: we are told when there is some. */
size_t port_rings_write(struct port *port, const uint8_t *bytes, size_t len);
/* As many as there are; -1: what the guest says of its ring cannot be. */
long port_rings_read(struct port *port, void *room, size_t left);
/* It is quiet until the next ring. */
void port_rings_hear(struct port *port);
/* So that we have another turn, after others had theirs. */
void port_rings_ring(struct port *port);
