/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_index.c - rules to the compiled form
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/method.h"
#include "policy/policy_internal.h"

#define ENTRIES_FIRST 64
#define PORT_HTTP 80
#define PORT_HTTPS 443

const struct cidr policy_loopback[2] = {
	{ { ADDRESS_V4, { 127, 0, 0, 1 } }, 32 },
	{ { ADDRESS_V6, { [15] = 1 } }, 128 },
};

/* What is needed only while the index is made. */
struct indexer {
	struct policy *policy;
	struct port_items items;
	struct edge_table ranges; /* from a range to its entry */
	uint32_t rule;            /* the one that is added */
};

static uint32_t new_entry(struct policy *policy)
{
	if (policy->entry_count == policy->entry_room) {
		policy->entry_room = policy->entry_room ? policy->entry_room * 2
							: ENTRIES_FIRST;
		policy->entries =
			xrealloc(policy->entries,
				 policy->entry_room * sizeof(*policy->entries));
	}
	policy->entries[policy->entry_count] =
		(struct policy_entry){ .low = UINT16_MAX };
	return (uint32_t)policy->entry_count++;
}

static uint32_t effects_of(const struct policy_rule *rule, bool exact)
{
	uint32_t allow = EFFECT_ALLOW, allow_if = EFFECT_ALLOW_IF;
	bool conditional = rule_is_conditional(rule);

	allow |= rule->has_port ? EFFECT_NAMES_PORT : 0;
	allow |= exact ? EFFECT_EXACT : 0;
	allow_if |= exact ? EFFECT_EXACT_IF : 0;
	switch (rule->action) {
	case RULE_DENY:
		return conditional ? EFFECT_DENY_IF : EFFECT_DENY;
	case RULE_ALLOW:
		return conditional ? allow_if : allow;
	case RULE_BYPASS:
		return allow | EFFECT_BYPASS;
	default:
		return EFFECT_INSPECT;
	}
}

static uint32_t root_of(struct policy *policy, uint32_t entry, bool denies)
{
	struct policy_entry *at = &policy->entries[entry];
	uint32_t *root = denies ? &at->deny_paths : &at->allow_paths;

	if (!*root)
		*root = path_tree_root(&policy->paths, denies, at->exact);
	return *root;
}

static void add_ports(struct indexer *indexer, uint32_t number, uint16_t low,
		      uint16_t high)
{
	struct policy *policy = indexer->policy;
	struct policy_entry *entry = &policy->entries[number];
	const struct policy_rule *rule = &policy->rules[indexer->rule];
	struct port_item item = { .owner = number,
				  .rule = indexer->rule,
				  .mask = effects_of(rule, entry->exact),
				  .low = low,
				  .high = high };

	entry->effects |= item.mask;
	if (low < entry->low)
		entry->low = low;
	if (high > entry->high)
		entry->high = high;
	if (item.mask == EFFECT_DENY && low <= 1 && high == UINT16_MAX)
		entry->denies_all = true;
	port_items_add(&indexer->items, &item);
	if (!rule_is_conditional(rule))
		return;
	item.mask = rule->methods;
	path_tree_add(&policy->paths,
		      root_of(policy, number, rule->action == RULE_DENY),
		      rule->path, &item);
}

/*
 * Without a port: what is denied is denied on all, and so is what an address
 * means; a name that is allowed is allowed for the web.
 */
static void add_rule(struct indexer *indexer, uint32_t entry)
{
	const struct policy_rule *rule = &indexer->policy->rules[indexer->rule];

	if (rule->has_port) {
		add_ports(indexer, entry, rule->low, rule->high);
	} else if (rule->action == RULE_DENY ||
		   rule->host.kind == HOST_ADDRESS) {
		add_ports(indexer, entry, 0, UINT16_MAX);
	} else {
		add_ports(indexer, entry, PORT_HTTP, PORT_HTTP);
		add_ports(indexer, entry, PORT_HTTPS, PORT_HTTPS);
	}
}

static void add_range(struct indexer *indexer, const struct cidr *range)
{
	struct policy *policy = indexer->policy;
	bool v4 = range->base.family == ADDRESS_V4;
	const char *bytes = (const char *)range->base.bytes;
	struct edge_key key = edge_key_of(bytes, sizeof(range->base.bytes));
	uint32_t parent = range->bits | (uint32_t)v4 << 8;
	uint32_t entry =
		edge_table_find(&indexer->ranges, parent, &key, EDGE_EXACT);

	if (!entry) {
		entry = new_entry(policy);
		policy->entries[entry].exact = range->bits == (v4 ? 32 : 128);
		policy->entries[entry].opens =
			policy->entries[entry].exact || cidr_is_guarded(range);
		edge_table_add(&indexer->ranges, parent, &key, entry);
		address_map_add(v4 ? &policy->v4 : &policy->v6, range, entry);
	}
	add_rule(indexer, entry);
}

/* The member of a node is found anew: nodes move when there are more. */
static void add_to_node(struct indexer *indexer, uint32_t node, size_t member)
{
	struct policy *policy = indexer->policy;
	char *at = (char *)&policy->names.nodes[node] + member;
	uint32_t entry;

	memcpy(&entry, at, sizeof(entry));
	if (!entry) {
		entry = new_entry(policy);
		policy->entries[entry].exact =
			member == offsetof(struct name_node, exact);
		memcpy(at, &entry, sizeof(entry));
	}
	add_rule(indexer, entry);
}

static void add_names(struct indexer *indexer, const struct host_pattern *host)
{
	uint32_t node =
		host->kind == HOST_ANY
			? NAME_TREE_ROOT
			: name_tree_node(&indexer->policy->names, host->name);

	if (host->kind == HOST_EXACT || host->kind == HOST_TREE)
		add_to_node(indexer, node, offsetof(struct name_node, exact));
	if (host->kind == HOST_ONE)
		add_to_node(indexer, node, offsetof(struct name_node, one));
	if (host->kind == HOST_BELOW || host->kind == HOST_TREE ||
	    host->kind == HOST_ANY)
		add_to_node(indexer, node, offsetof(struct name_node, below));
}

static void add_host(struct indexer *indexer)
{
	const struct host_pattern *host =
		&indexer->policy->rules[indexer->rule].host;

	if (host->kind == HOST_ADDRESS) {
		add_range(indexer, &host->range);
	} else if (host->kind == HOST_LOCALHOST) {
		add_range(indexer, &policy_loopback[0]);
		add_range(indexer, &policy_loopback[1]);
	} else {
		add_names(indexer, host);
	}
}

static inline void keep(uint32_t *slot, const struct port_hit *hit,
			uint32_t effect)
{
	if (hit->mask & effect && hit->rule < *slot)
		*slot = hit->rule;
}

/* A decision reads one cell instead of a list of rules. */
static void make_cells(struct policy *policy)
{
	const struct port_index *ports = &policy->ports;

	policy->cells =
		xcalloc(ports->segment_count + 1, sizeof(*policy->cells));
	for (size_t i = 0; i < ports->segment_count; i++) {
		const struct port_segment *segment = &ports->segments[i];
		struct policy_cell *cell = &policy->cells[i];

		*cell = (struct policy_cell){ POLICY_NO_RULE, POLICY_NO_RULE,
					      POLICY_NO_RULE, POLICY_NO_RULE,
					      0 };
		for (uint32_t j = 0; j < segment->hits; j++) {
			const struct port_hit *hit =
				&ports->hits[segment->first_hit + j];

			cell->effects |= hit->mask;
			keep(&cell->deny, hit, EFFECT_DENY);
			keep(&cell->allow, hit, EFFECT_ALLOW);
			keep(&cell->deny_if, hit, EFFECT_DENY_IF);
			keep(&cell->allow_if, hit, EFFECT_ALLOW_IF);
		}
	}
}

static void finish_map(struct policy *policy, struct address_map *map)
{
	address_map_finish(map);
	for (size_t i = 0; i < map->count; i++) {
		const struct address_range *range = &map->ranges[i];

		if (range->around)
			policy->entries[range->entry].around =
				map->ranges[range->around - 1].entry;
	}
}

void policy_index(struct policy *policy)
{
	struct indexer indexer = { .policy = policy };

	(void)new_entry(policy);
	name_tree_init(&policy->names);
	path_tree_init(&policy->paths);
	edge_table_init(&indexer.ranges);
	for (; indexer.rule < policy->rule_count; indexer.rule++)
		add_host(&indexer);
	name_tree_finish(&policy->names);
	finish_map(policy, &policy->v4);
	finish_map(policy, &policy->v6);
	path_tree_finish(&policy->paths);
	port_index_build(&policy->ports, &indexer.items,
			 (uint32_t)policy->entry_count);
	make_cells(policy);
	port_items_release(&indexer.items);
	edge_table_release(&indexer.ranges);
}
