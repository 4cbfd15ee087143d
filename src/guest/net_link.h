/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_link.h - the interface that leads nowhere
 *
 * A dummy interface has the guest's address and the default route, so that
 * programs find a way to every address. What takes it is redirected to the
 * relay or rejected (net_rules.h); nothing ever leaves by it.
 */
#pragma once

struct error;
struct netlink;

#define NET_INTERFACE "bawn0"
/* The guest's own address, and the name server's. 198.19.255.0/24 is ours. */
#define NET_ADDRESS "198.19.255.1"

/* Makes it and the route; what is there already is left as it is. */
int net_link_setup(struct error *err);

/* The requests, one after the other; index is the interface's number. Pure. */
void net_link_encode_add(struct netlink *nl);
void net_link_encode_up(struct netlink *nl, int index);
void net_link_encode_address(struct netlink *nl, int index);
void net_link_encode_route(struct netlink *nl, int index);
