/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_summary.h - how often a sandbox went where, or was not let
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct net_log_entry;

struct net_summary {
	json_t *hosts; /* owned: an object for each host, by its key */
};

#define NET_SUMMARY_INIT ((struct net_summary){ .hosts = json_object() })

void net_summary_release(struct net_summary *summary);
#define AUTO_NET_SUMMARY __attribute__((cleanup(net_summary_release)))

/* Counts what a rule decided; anything else is passed over. */
void net_summary_add(struct net_summary *summary,
		     const struct net_log_entry *entry);
/*
 * The hosts that were denied, or those that were allowed, the last seen first:
 * "sandbox", "host", "rule" (null: by default), "last_seen", "since", "count".
 * At most limit of them; 0: all. Caller owns the list.
 */
json_t *net_summary_list(const struct net_summary *summary, bool denied,
			 size_t limit);
