/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.c - sources to rules; what is known about a whole policy
 */
#include "policy/policy.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/own.h"
#include "policy/policy_file.h"
#include "policy/policy_internal.h"

#define RULES_FIRST 64

static const char *const scope_names[] = {
	[POLICY_PRESET] = "preset",   [POLICY_GLOBAL] = "global",
	[POLICY_SANDBOX] = "sandbox", [POLICY_AGENT] = "agent",
	[POLICY_ONCE] = "once",
};

static_assert(ARRAY_SIZE(scope_names) == POLICY_SCOPES, "a name for each");

const char *policy_scope_name(enum policy_scope scope)
{
	return scope_names[scope];
}

int policy_scope_parse(const char *name, enum policy_scope *scope)
{
	for (int i = 0; i < POLICY_SCOPES; i++) {
		if (strcmp(name, scope_names[i]) == 0) {
			*scope = (enum policy_scope)i;
			return 0;
		}
	}
	return -1;
}

static int read_rule(struct policy *policy, const struct policy_source *source,
		     const struct policy_line *line, struct error *err)
{
	struct policy_rule *rule;

	if (policy->rule_count == POLICY_RULES_MAX)
		return error_set(err, 0, "more than %u rules in all",
				 POLICY_RULES_MAX);
	if (policy->rule_count == policy->rule_room) {
		policy->rule_room =
			policy->rule_room ? policy->rule_room * 2 : RULES_FIRST;
		policy->rules =
			xrealloc(policy->rules,
				 policy->rule_room * sizeof(*policy->rules));
	}
	rule = &policy->rules[policy->rule_count];
	if (rule_parse(line->content, line->len, RULE_ALLOW, rule, err) < 0)
		return -1;
	rule->scope = source->scope;
	rule->source = policy->source_names[policy->source_count - 1];
	rule->line = line->number;
	policy->rule_count++;
	return 0;
}

static int read_default(struct policy *policy,
			const struct policy_source *source,
			const struct policy_line *line, struct error *err)
{
	if (source->scope > POLICY_SANDBOX)
		return error_set(err, 0, "a default does not belong here");
	if (source->scope < policy->default_scope)
		return 0;
	policy->default_scope = source->scope;
	policy->default_allow = line->allow;
	return 0;
}

/* Which lines of a source said what may be said once. */
struct once {
	unsigned default_line, preset_line;
};

static int say_once(unsigned *said, const struct policy_line *line,
		    const char *what, struct error *err)
{
	if (*said)
		return error_set(err, 0, "line %u has a %s too", *said, what);
	*said = line->number;
	return 0;
}

/* A preset that is named there is a source of its own: the caller reads it. */
static int read_line(struct policy *policy, const struct policy_source *source,
		     const struct policy_line *line, struct once *once,
		     struct error *err)
{
	switch (line->kind) {
	case POLICY_LINE_RULE:
		return read_rule(policy, source, line, err);
	case POLICY_LINE_DEFAULT:
		if (say_once(&once->default_line, line, "default", err) < 0)
			return -1;
		return read_default(policy, source, line, err);
	case POLICY_LINE_PRESET:
		return say_once(&once->preset_line, line, "preset", err);
	default:
		return 0;
	}
}

static int read_source(struct policy *policy,
		       const struct policy_source *source, struct error *err)
{
	struct policy_file file = policy_file_of(source->text, source->len);
	struct once once = { 0 };
	struct policy_line line;
	int more;

	if (source->len > POLICY_TEXT_MAX)
		return error_set(err, 0, "%s: too long", source->name);
	while ((more = policy_file_next(&file, &line, err)) > 0) {
		if (read_line(policy, source, &line, &once, err) < 0)
			break;
	}
	if (more == 0)
		return 0;
	return error_prefix(err, "%s:%u", source->name, line.number);
}

struct policy *policy_compile(const struct policy_source *sources, size_t count,
			      struct error *err)
{
	AUTO(policy) struct policy *policy = xcalloc(1, sizeof(*policy));

	policy->source_names = xcalloc(count + 1, sizeof(char *));
	for (size_t i = 0; i < count; i++) {
		policy->source_names[policy->source_count++] =
			xstrdup(sources[i].name);
		if (read_source(policy, &sources[i], err) < 0)
			return NULL;
	}
	policy_index(policy);
	return TAKE_PTR(policy);
}

void policy_free(struct policy *policy)
{
	if (!policy)
		return;
	for (size_t i = 0; i < policy->rule_count; i++)
		rule_release(&policy->rules[i]);
	for (size_t i = 0; i < policy->source_count; i++)
		free(policy->source_names[i]);
	free(policy->rules);
	free(policy->source_names);
	free(policy->entries);
	free(policy->own);
	free(policy->cells);
	port_index_release(&policy->ports);
	path_tree_release(&policy->paths);
	name_tree_release(&policy->names);
	address_map_release(&policy->v4);
	address_map_release(&policy->v6);
	free(policy);
}

size_t policy_rule_count(const struct policy *policy)
{
	return policy->rule_count;
}

bool policy_allows_by_default(const struct policy *policy)
{
	return policy->default_allow;
}

static int compare_addresses(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct address));
}

void policy_guard(struct policy *policy, const struct address *addresses,
		  size_t count)
{
	free(policy->own);
	policy->own = xcalloc(count + 1, sizeof(*policy->own));
	policy->own_count = count;
	if (count == 0)
		return;
	memcpy(policy->own, addresses, count * sizeof(*policy->own));
	qsort(policy->own, count, sizeof(*policy->own), compare_addresses);
}

bool policy_is_guarded(const struct policy *policy,
		       const struct address *address)
{
	if (address_is_guarded(address))
		return true;
	return policy->own_count &&
	       bsearch(address, policy->own, policy->own_count,
		       sizeof(*address), compare_addresses) != NULL;
}
