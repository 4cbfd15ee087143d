/* SPDX-License-Identifier: Apache-2.0 */
/*
 * filter.h - one connection of a guest to the host's ssh-agent
 */
#pragma once

struct error;
struct ssh_keys;

/*
 * Both descriptors are blocking stream sockets. Answers each request, in its
 * turn, until the guest has no more: 0. -1 when one side breaks the protocol
 * or the agent is gone.
 */
int filter_serve(int guest, int agent, const struct ssh_keys *allowed,
		 struct error *err);
