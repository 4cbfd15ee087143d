/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_rules.h - packet rules that lead everything to the relay
 *
 * Set over netlink, because a template need not contain a tool for it. Root
 * in the guest can take the rules away and gains nothing: there is no card.
 *
 *   table bawn           TCP and port 53 of processes and of containers are
 *                        redirected to the relay, all else that would take
 *                        the interface is rejected at once
 *   table bawn_forward   `localhost` ports of the host: taken by the relay
 *                        when nothing in the guest listens there
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct error;
struct netlink;

/* The relay's: TCP and UDP on every address; outside the ephemeral ports. */
#define NET_RELAY_PORT 61053
/* The relay's, transparent, on the loopback addresses. */
#define NET_FORWARD_PORT 61054
/* On packets of the relay's own connections, which are never forwarded. */
#define NET_RELAY_MARK 0x6261776e

/* Whatever was there of ours is replaced, in one step. */
int net_rules_set(struct error *err);
/* The ports that are forwarded; count 0 takes the table away. */
int net_rules_forward(const uint16_t *ports, size_t count, struct error *err);

/* The same as requests. Pure. */
void net_rules_encode(struct netlink *nl);
void net_rules_encode_forward(struct netlink *nl, const uint16_t *ports,
			      size_t count);
