/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_decide.c - verdicts
 *
 * Every decision collects what the matching entries say, then concludes. What
 * an entry may contribute is limited by a set of effects: a wildcard of names
 * can deny an address but never allow it, a wide range cannot open a guarded
 * address, and so on.
 */
#include <stdlib.h>
#include <string.h>

#include "policy/method.h"
#include "policy/path_run.h"
#include "policy/policy_internal.h"

struct findings {
	const struct policy *policy;
	struct path_run *run; /* NULL: only the connection is decided */
	uint16_t port;
	bool guarded;           /* the default does not count */
	struct policy_cell all; /* what the entries say, joined */
};

static struct findings findings_on(const struct policy *policy, uint16_t port)
{
	return (struct findings){
		.policy = policy,
		.port = port,
		.all = { POLICY_NO_RULE, POLICY_NO_RULE, POLICY_NO_RULE,
			 POLICY_NO_RULE, 0 },
	};
}

/* Beside the way that is gone most often, which then needs few registers. */
#define NOT_INLINE __attribute__((noinline))

static inline void keep_first(uint32_t *first, uint32_t rule)
{
	if (rule < *first)
		*first = rule;
}

static NOT_INLINE void join(struct findings *found, uint32_t number,
			    uint32_t effects)
{
	const struct policy *policy = found->policy;
	const struct policy_entry *entry = &policy->entries[number];
	const struct port_segment *segment =
		port_index_segment(&policy->ports, number, found->port);
	const struct policy_cell *cell =
		&policy->cells[segment - policy->ports.segments];

	effects &= cell->effects;
	found->all.effects |= effects;
	if (effects & EFFECT_DENY)
		keep_first(&found->all.deny, cell->deny);
	if (effects & EFFECT_ALLOW)
		keep_first(&found->all.allow, cell->allow);
	if (effects & EFFECT_DENY_IF) {
		keep_first(&found->all.deny_if, cell->deny_if);
		if (found->run)
			path_run_add(found->run, entry->deny_paths);
	}
	if (effects & EFFECT_ALLOW_IF) {
		keep_first(&found->all.allow_if, cell->allow_if);
		if (found->run)
			path_run_add(found->run, entry->allow_paths);
	}
}

/* Takes in those effects of an entry; most have none on this port. */
static inline const struct policy_entry *
visit(struct findings *found, uint32_t number, uint32_t effects)
{
	const struct policy_entry *entry = &found->policy->entries[number];

	if (found->port >= entry->low && found->port <= entry->high &&
	    entry->effects & effects)
		join(found, number, effects);
	return entry;
}

/* Ranges that do not open what is guarded are around those that do. */
static void visit_ranges(struct findings *found, const struct address *address,
			 uint32_t effects)
{
	const struct policy *policy = found->policy;
	uint32_t number = address_map_find(
		address->family == ADDRESS_V4 ? &policy->v4 : &policy->v6,
		address);

	while (number) {
		if (found->guarded && !policy->entries[number].opens)
			effects &= ~(uint32_t)EFFECTS_ALLOW;
		number = visit(found, number, effects)->around;
	}
}

/* Effects of rules for addresses. */
static void visit_address(struct findings *found, const struct address *given,
			  uint32_t effects)
{
	struct address address = *given, embedded;

	if (given->family == ADDRESS_V6)
		address = address_v6(given->bytes);
	found->guarded = policy_is_guarded(found->policy, &address);
	visit_ranges(found, &address, effects);
	if (address.family == ADDRESS_V6 &&
	    address_embedded(&address, &embedded) == 0)
		visit_ranges(found, &embedded, EFFECTS_DENY);
}

/* A destination that is named by its address: `deny **` means it, too. */
static void visit_literal(struct findings *found, const struct address *address)
{
	uint32_t any = found->policy->names.nodes[NAME_TREE_ROOT].below;

	visit_address(found, address, EFFECTS_ALL);
	if (any)
		visit(found, any, EFFECTS_DENY);
}

static void visit_name(struct findings *found, const char *name)
{
	const struct name_node *nodes = found->policy->names.nodes;
	struct name_match match;

	if (host_pattern_is_localhost(name)) {
		visit_literal(found, &policy_loopback[0].base);
		return;
	}
	match = name_tree_find(&found->policy->names, name);
	if (match.exact)
		visit(found, match.exact, EFFECTS_ALL);
	if (match.one)
		visit(found, match.one, EFFECTS_ALL);
	for (uint32_t node = match.up; node; node = nodes[node].above)
		visit(found, nodes[node].below, EFFECTS_ALL);
}

static void name_rule(const struct findings *found, uint32_t rule,
		      struct policy_verdict *verdict)
{
	verdict->rule = &found->policy->rules[rule];
	verdict->names_port = (found->all.effects & EFFECT_NAMES_PORT) ||
			      verdict->rule->has_port;
}

static struct policy_verdict denied_by(const struct findings *found,
				       uint32_t rule)
{
	return (struct policy_verdict){ .answer = POLICY_DENY,
					.rule = &found->policy->rules[rule] };
}

/* What holds for whatever is not denied. */
static struct policy_verdict not_denied(const struct findings *found)
{
	struct policy_verdict verdict = { .answer = POLICY_ALLOW };

	verdict.bypass = found->all.effects & EFFECT_BYPASS;
	verdict.inspect =
		(found->all.effects & EFFECT_INSPECT) && !verdict.bypass;
	return verdict;
}

static struct policy_verdict by_default(const struct findings *found)
{
	struct policy_verdict verdict = { .answer = POLICY_DENY };

	if (found->policy->default_allow && !found->guarded)
		verdict = not_denied(found);
	verdict.by_default = true;
	verdict.guarded = found->guarded;
	return verdict;
}

static struct policy_verdict conclude(const struct findings *found)
{
	struct policy_verdict verdict;
	bool default_allow = found->policy->default_allow && !found->guarded;

	if (found->all.deny != POLICY_NO_RULE)
		return denied_by(found, found->all.deny);
	if (found->all.allow != POLICY_NO_RULE) {
		verdict = not_denied(found);
		name_rule(found, found->all.allow, &verdict);
		verdict.exact_host = found->all.effects & EFFECT_EXACT;
	} else if (found->all.allow_if != POLICY_NO_RULE && !default_allow) {
		verdict = not_denied(found);
		verdict.answer = POLICY_BY_REQUEST;
		name_rule(found, found->all.allow_if, &verdict);
		verdict.exact_host = found->all.effects & EFFECT_EXACT_IF;
		return verdict;
	} else {
		verdict = by_default(found);
	}
	if (verdict.answer == POLICY_ALLOW &&
	    found->all.deny_if != POLICY_NO_RULE) {
		verdict.answer = POLICY_BY_REQUEST;
		if (found->all.effects & EFFECT_EXACT_IF)
			verdict.exact_host = true;
	}
	return verdict;
}

struct policy_verdict policy_decide_name(const struct policy *policy,
					 const char *name, uint16_t port)
{
	struct findings found = findings_on(policy, port);

	visit_name(&found, name);
	return conclude(&found);
}

struct policy_verdict policy_decide_address(const struct policy *policy,
					    const struct address *address,
					    uint16_t port)
{
	struct findings found = findings_on(policy, port);

	visit_literal(&found, address);
	return conclude(&found);
}

/* Where a name leads can deny, and says nothing else. */
static void visit_denials(struct findings *found, const struct address *address)
{
	bool guarded = found->guarded;

	visit_address(found, address, EFFECTS_DENY);
	found->guarded = guarded;
}

static struct policy_verdict conclude_request(const struct findings *found,
					      const struct path_run *run)
{
	struct policy_verdict verdict;
	uint32_t allow = found->all.allow;

	if (run->deny != PATH_RUN_NONE)
		return denied_by(found, run->deny);
	if (allow == POLICY_NO_RULE)
		allow = run->allow;
	if (allow == POLICY_NO_RULE)
		return by_default(found);
	verdict = not_denied(found);
	name_rule(found, allow, &verdict);
	verdict.exact_host = run->exact || (found->all.effects & EFFECT_EXACT);
	return verdict;
}

struct policy_verdict
policy_decide_request(const struct policy *policy,
		      const struct policy_request *request)
{
	struct findings found = findings_on(policy, request->port);
	struct policy_verdict verdict;
	struct path_run run;

	path_run_start(&run, &policy->paths, request->port,
		       method_bit(request->method));
	found.run = &run;
	if (!request->name)
		visit_literal(&found, request->address);
	else
		visit_name(&found, request->name);
	if (request->name && request->address)
		visit_denials(&found, request->address);
	if (found.all.deny != POLICY_NO_RULE) {
		verdict = denied_by(&found, found.all.deny);
	} else {
		if (found.all.allow != POLICY_NO_RULE)
			path_run_allow(&run, found.all.effects & EFFECT_EXACT);
		if (found.all.effects & (EFFECT_DENY_IF | EFFECT_ALLOW_IF))
			path_run_match(&run, request->path);
		verdict = conclude_request(&found, &run);
	}
	path_run_release(&run);
	return verdict;
}

struct policy_verdict policy_decide_resolved(const struct policy *policy,
					     const char *name,
					     const struct address *address,
					     uint16_t port)
{
	struct findings found = findings_on(policy, port);
	struct policy_verdict verdict;

	visit_address(&found, address,
		      EFFECTS_DENY | EFFECT_ALLOW | EFFECT_NAMES_PORT |
			      EFFECT_EXACT);
	if (found.all.deny == POLICY_NO_RULE)
		found.all.deny = found.all.deny_if;
	if (found.all.deny != POLICY_NO_RULE ||
	    found.all.allow != POLICY_NO_RULE)
		return conclude(&found);
	verdict = by_default(&found);
	/* Nobody but the host itself is called that. */
	if (found.guarded || host_pattern_is_localhost(name))
		return verdict;
	return (struct policy_verdict){ .answer = POLICY_ALLOW };
}

static bool may_allow(const struct policy_entry *entry)
{
	return entry->effects & (EFFECT_ALLOW | EFFECT_ALLOW_IF);
}

/* Whether one of the name's entries is so; `**` is asked for denials only. */
static bool some_entry(const struct policy *policy, const char *name,
		       bool denies_all)
{
	const struct name_node *nodes = policy->names.nodes;
	struct name_match match = name_tree_find(&policy->names, name);
	const struct policy_entry *entries = policy->entries;

	/* The entry that is none is neither. */
	if (denies_all ? entries[match.exact].denies_all ||
				 entries[match.one].denies_all
		       : may_allow(&entries[match.exact]) ||
				 may_allow(&entries[match.one]))
		return true;
	for (uint32_t node = match.up; node; node = nodes[node].above) {
		const struct policy_entry *entry = &entries[nodes[node].below];

		if (denies_all ? entry->denies_all
			       : may_allow(entry) && node != NAME_TREE_ROOT)
			return true;
	}
	return false;
}

bool policy_name_denied_everywhere(const struct policy *policy,
				   const char *name)
{
	return some_entry(policy, name, true);
}

bool policy_name_matched(const struct policy *policy, const char *name)
{
	return some_entry(policy, name, false);
}

/* A rule that makes a port of the loopback an allowed one by its number. */
static bool names_loopback_port(const struct policy_rule *rule)
{
	const struct host_pattern *host = &rule->host;

	if (!rule->has_port ||
	    (rule->action != RULE_ALLOW && rule->action != RULE_BYPASS))
		return false;
	if (host->kind == HOST_LOCALHOST)
		return true;
	for (int i = 0; i < 2 && host->kind == HOST_ADDRESS; i++) {
		if (host->range.bits == policy_loopback[i].bits &&
		    address_equal(&host->range.base, &policy_loopback[i].base))
			return true;
	}
	return false;
}

size_t policy_localhost_ports(const struct policy *policy, uint16_t *ports,
			      size_t max)
{
	uint8_t named[(UINT16_MAX + 1) / 8] = { 0 };
	size_t count = 0;

	for (size_t i = 0; i < policy->rule_count; i++) {
		const struct policy_rule *rule = &policy->rules[i];

		for (uint32_t port = rule->low;
		     names_loopback_port(rule) && port <= rule->high; port++)
			named[port / 8] |= (uint8_t)(1u << port % 8);
	}
	for (uint32_t port = 1; port <= UINT16_MAX; port++) {
		if (!(named[port / 8] & 1u << port % 8) ||
		    policy_decide_name(policy, "localhost", (uint16_t)port)
				    .answer == POLICY_DENY)
			continue;
		if (count < max)
			ports[count] = (uint16_t)port;
		count++;
	}
	return count;
}
