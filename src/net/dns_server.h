/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dns_server.h - the resolver of a guest, which asks nobody
 */
#pragma once

struct gate;
struct net_dns;

/* Answers at once, or not at all when no answer is due. */
void dns_server_on_query(struct gate *gate, const struct net_dns *query);
