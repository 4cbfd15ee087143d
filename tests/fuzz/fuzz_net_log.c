/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_net_log.c - a line of bawn-net; the rule that it would need is a rule
 */
#include "cli/net_log.h"

#include <string.h>

#include "cli/net_summary.h"
#include "lib/fuzz.h"
#include "policy/rule.h"

static void check_wish(const struct net_log_entry *entry)
{
	char wish[NET_LOG_TARGET_SIZE];
	struct policy_rule rule;

	if (net_log_wish(entry, wish) < 0)
		return;
	FUZZ_CHECK(rule_parse(wish, strlen(wish), RULE_ALLOW, &rule, NULL) ==
		   0);
	rule_release(&rule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO_NET_SUMMARY struct net_summary summary = NET_SUMMARY_INIT;
	struct net_log_entry entry;
	json_t *list;

	if (net_log_decode((const char *)data, size, &entry) < 0)
		return 0;
	check_wish(&entry);
	net_summary_add(&summary, &entry);
	list = net_summary_list(&summary, entry.denied, 1);
	FUZZ_CHECK(json_array_size(list) <= 1);
	json_decref(list);
	net_log_release(&entry);
	return 0;
}
