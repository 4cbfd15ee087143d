/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_summary.c - how often a sandbox went where, or was not let
 *
 * A guest chooses how many hosts there are, so they are found by a hash; that
 * of json objects has a secret seed.
 */
#include "cli/net_summary.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/own.h"
#include "cli/net_log.h"

void net_summary_release(struct net_summary *summary)
{
	json_decref(summary->hosts);
	summary->hosts = NULL;
}

static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

void net_summary_add(struct net_summary *summary,
		     const struct net_log_entry *entry)
{
	char target[NET_LOG_TARGET_SIZE];
	AUTO_FREE char *key = NULL;
	json_t *host;
	json_int_t count;

	if (!net_log_is_outgoing(entry) || entry->held)
		return;
	net_log_target(entry, target);
	key = xasprintf("%d %s %s %s", entry->denied, target, entry->sandbox,
			entry->rule);
	host = json_object_get(summary->hosts, key);
	if (!host) {
		host = json_pack("{s:s, s:s, s:o, s:s, s:s, s:i, s:b}",
				 "sandbox", entry->sandbox, "host", target,
				 "rule", text_or_null(entry->rule), "last_seen",
				 entry->time, "since", entry->time, "count", 0,
				 "denied", entry->denied);
		if (json_object_set_new(summary->hosts, key, host) < 0)
			return;
	}
	count = json_integer_value(json_object_get(host, "count"));
	json_object_set_new(host, "count", json_integer(count + 1));
	json_object_set_new(host, "last_seen", json_string(entry->time));
}

static int later_first(const void *a, const void *b)
{
	json_t *const *one = a, *const *other = b;

	return strcmp(json_string_value(json_object_get(*other, "last_seen")),
		      json_string_value(json_object_get(*one, "last_seen")));
}

json_t *net_summary_list(const struct net_summary *summary, bool denied,
			 size_t limit)
{
	size_t count = json_object_size(summary->hosts), n = 0;
	AUTO_FREE json_t **found = xcalloc(count + 1, sizeof(json_t *));
	json_t *list = json_array(), *host;
	const char *key;

	json_object_foreach(summary->hosts, key, host)
	{
		if (json_is_true(json_object_get(host, "denied")) == denied)
			found[n++] = host;
	}
	qsort(found, n, sizeof(json_t *), later_first);
	for (size_t i = 0; i < n && (!limit || i < limit); i++) {
		json_t *copy = json_copy(found[i]);

		json_object_del(copy, "denied");
		json_array_append_new(list, copy);
	}
	return list;
}
