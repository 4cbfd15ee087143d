/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_set.h - the rules that hold for a sandbox: a preset, those of all
 * sandboxes, its own
 *
 *   data/policy/NAME          a preset
 *   data/policy/agents/AGENT  what the agent cannot do without
 *   config/policy             of all sandboxes
 *   sandboxes/NAME/policy     of one
 *
 * A line `preset NAME` says which preset: that of the sandbox's file, else that
 * of the file for all, else balanced. Bytes are given as they are; rules are
 * checked by policy_set_compile().
 */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "policy/policy.h"

struct error;
struct sandbox;

#define POLICY_SET_FILE "policy"
/* Whoever changes a file holds it, until running sandboxes know. */
#define POLICY_SET_LOCK "policy.lock"
#define POLICY_SET_DEFAULT "balanced"
/* All of a sandbox's rules go in one line to its supervisor. */
#define POLICY_SET_TEXT_MAX (384u * 1024)

struct policy_set_item {
	enum policy_scope scope;
	char *name; /* owned: the file */
	char *text; /* owned */
	size_t len;
};

struct policy_set {
	char *preset;      /* owned: its name */
	const char *agent; /* of the sandbox; NULL without one */
	struct policy_set_item items[POLICY_SCOPES];
	size_t count;
};

/* sandbox may be NULL: what a new one would have. Release it in any case. */
int policy_set_load(const struct sandbox *sandbox, struct policy_set *set,
		    struct error *err);
/* The same with another text for one scope (borrowed), to try a change. */
int policy_set_replace(struct policy_set *set, enum policy_scope scope,
		       const char *text, size_t len, struct error *err);
void policy_set_release(struct policy_set *set);
#define AUTO_POLICY_SET __attribute__((cleanup(policy_set_release)))

/*
 * For bawn-net: a list of "scope", "name", "text" (PROTOCOL.md §5). What
 * bawn-net would refuse is an error here, with file and line. Caller owns it.
 */
json_t *policy_set_json(const struct policy_set *set, struct error *err);
/* err names the file and the line of a rule that is none. */
struct policy *policy_set_compile(const struct policy_set *set,
				  struct error *err);

/* 0 when there is a preset of this name; else -1 and which there are. */
int policy_set_check_preset(const char *name, struct error *err);
/* Their names, sorted; NULL-terminated, malloc'd each. */
char **policy_set_presets(void);
void policy_set_presets_free(char **names);
/* Rules of what an agent cannot do without; malloc'd text, NULL: none. */
char *policy_set_agent(const char *agent);
/* Domains below which names belong to different people; malloc'd text. */
char *policy_set_shared(void);
