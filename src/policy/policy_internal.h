/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_internal.h - the compiled form
 *
 * Each distinct host pattern (a name, *.x, **.x, **, a range) is an entry: its
 * rules by port, and two roots in the tree of paths for those that depend on
 * the request. Names and addresses lead to entries; a decision visits the few
 * that match and joins what they say.
 */
#pragma once

#include "policy/address_map.h"
#include "policy/name_tree.h"
#include "policy/path_tree.h"
#include "policy/policy.h"
#include "policy/port_index.h"
#include "policy/rule.h"

/* What a rule does on a port. */
enum policy_effect {
	EFFECT_DENY = 1 << 0,
	EFFECT_ALLOW = 1 << 1, /* bypass, too */
	EFFECT_BYPASS = 1 << 2,
	EFFECT_INSPECT = 1 << 3,
	EFFECT_DENY_IF = 1 << 4, /* depends on the request */
	EFFECT_ALLOW_IF = 1 << 5,
	EFFECT_NAMES_PORT = 1 << 6, /* with EFFECT_ALLOW */
	EFFECT_EXACT = 1 << 7,      /* with EFFECT_ALLOW: of an exact entry */
	EFFECT_EXACT_IF = 1 << 8,   /* with EFFECT_ALLOW_IF */
};

#define EFFECTS_DENY (EFFECT_DENY | EFFECT_DENY_IF)
#define EFFECTS_ALLOW                                                         \
	(EFFECT_ALLOW | EFFECT_ALLOW_IF | EFFECT_BYPASS | EFFECT_NAMES_PORT | \
	 EFFECT_EXACT | EFFECT_EXACT_IF)
#define EFFECTS_ALL (EFFECTS_DENY | EFFECTS_ALLOW | EFFECT_INSPECT)

/* What one entry says on one port: the first rules, or POLICY_NO_RULE. */
struct policy_cell {
	uint32_t deny, allow, deny_if, allow_if;
	uint32_t effects;
};

struct policy_entry {
	/* Of all its rules: what is outside of these need not be looked up. */
	uint32_t effects;
	uint16_t low, high; /* ports */

	uint32_t around; /* of a range: the entry of the one around it */
	uint32_t deny_paths, allow_paths; /* roots, or 0 */
	bool exact;                       /* one name or one address */
	bool opens;      /* its addresses, although they are guarded */
	bool denies_all; /* ports, by one rule that has no condition */
};

struct policy {
	struct policy_rule *rules; /* owned */
	size_t rule_count, rule_room;
	char **source_names; /* owned */
	size_t source_count;
	bool default_allow;
	enum policy_scope default_scope; /* whose word that is */

	struct policy_entry *entries; /* owned; the first is none */
	size_t entry_count, entry_room;
	struct port_index ports;   /* of entries */
	struct policy_cell *cells; /* owned; one for each segment of these */
	struct path_tree paths;
	struct name_tree names;
	struct address_map v4, v6;
	struct address *own; /* owned; sorted; guarded like others */
	size_t own_count;
};

#define POLICY_NO_RULE UINT32_MAX

/* 127.0.0.1 and ::1: what a rule for localhost means. */
extern const struct cidr policy_loopback[2];

/* Makes entries and indexes of the rules. */
void policy_index(struct policy *policy);
bool policy_is_guarded(const struct policy *policy,
		       const struct address *address);
