/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.h - what the guest's relay says, and what it is told
 */
#pragma once

struct gate;

void guest_init(struct gate *gate, int port_fd);
/* Which ports of the host's localhost and which sockets there are. */
void guest_tell_settings(struct gate *gate);
