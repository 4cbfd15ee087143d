/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy.h - which connections and requests may leave
 *
 * Rules are text (bawn-policy(5)), compiled once; a decision then costs the
 * same whether there are ten rules or ten thousand. Pure: same rules and same
 * facts give the same verdict, so that a log can be replayed.
 *
 * Deny beats allow, whatever their scopes. What no rule matches gets the
 * default verdict, which is deny unless a source says otherwise: no source, or
 * an empty one, allows nothing. Guarded addresses (near the host, or its own)
 * are opened only by a rule that names them: neither by names nor by the
 * default.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct address;
struct error;
struct policy;
struct policy_rule;

#define POLICY_TEXT_MAX ((size_t)16 << 20) /* of one source */
#define POLICY_RULES_MAX 65536
#define POLICY_RULE_TEXT_SIZE 4096

/* Where a rule is from. `default` of a later one wins over an earlier one's. */
enum policy_scope {
	POLICY_PRESET,
	POLICY_GLOBAL,
	POLICY_SANDBOX,
	POLICY_AGENT, /* hosts that the agent cannot do without; no `default` */
	POLICY_ONCE,  /* an approval; no `default` */

	POLICY_SCOPES,
};

struct policy_source {
	enum policy_scope scope;
	const char *name; /* a file's, or "command line"; copied */
	const char *text;
	size_t len;
};

enum policy_answer {
	POLICY_DENY,
	POLICY_ALLOW,
	POLICY_BY_REQUEST, /* connect only if each request is decided */
};

struct policy_verdict {
	enum policy_answer answer;
	bool by_default; /* no rule said so */
	bool guarded;    /* denied because nothing opens this address */
	/*
	 * Never intercepted, nothing injected. With POLICY_BY_REQUEST, requests
	 * can be decided in plain text only: encrypted they are to be refused.
	 */
	bool bypass;
	bool inspect;    /* intercept to see; never together with bypass */
	bool names_port; /* a rule that allows it has a port */
	bool exact_host; /* a rule that allows it has no wildcard or range */
	/* The first that decided, unconditional ones first; may be NULL. */
	const struct policy_rule *rule;
};

/* A refused source is named in err with the line. */
struct policy *policy_compile(const struct policy_source *sources, size_t count,
			      struct error *err);
void policy_free(struct policy *policy);
static inline void policy_auto(struct policy **policy)
{
	policy_free(*policy);
}

/* The host's own addresses are guarded too; replaces those given before. */
void policy_guard(struct policy *policy, const struct address *addresses,
		  size_t count);

/*
 * Names are canonical (wire/hostname.h). localhost, host.docker.internal and
 * gateway.docker.internal are all the host's loopback.
 */
struct policy_verdict policy_decide_name(const struct policy *policy,
					 const char *name, uint16_t port);
/* A literal destination: rules for addresses decide, and `deny` of all. */
struct policy_verdict policy_decide_address(const struct policy *policy,
					    const struct address *address,
					    uint16_t port);

/* What is asked for: by name, or by address alone. */
struct policy_request {
	const char *name; /* or NULL */
	const struct address
		*address; /* with a name: where it leads; or NULL */
	uint16_t port;
	const char *method;
	/*
	 * As url_path_normalise() makes it, or NULL when there is no such form:
	 * then a rule with a path cannot allow it, and every one that denies
	 * some path denies it.
	 */
	const char *path;
};

/* Never POLICY_BY_REQUEST. */
struct policy_verdict
policy_decide_request(const struct policy *policy,
		      const struct policy_request *request);
/*
 * The name may be connected to, and this is one of its addresses: may it be
 * used? When it may and no rule says so, rule is NULL. A rule that denies some
 * requests to the address denies the address here.
 */
struct policy_verdict policy_decide_resolved(const struct policy *policy,
					     const char *name,
					     const struct address *address,
					     uint16_t port);

/* Denied by a rule, on all ports: such a name does not exist for a guest. */
bool policy_name_denied_everywhere(const struct policy *policy,
				   const char *name);
/* A rule other than `**` allows it, on some port and perhaps by request. */
bool policy_name_matched(const struct policy *policy, const char *name);
/*
 * Ports of the host's loopback that are allowed by rules with a port, in
 * ascending order. Returns how many there are, and writes at most max.
 */
size_t policy_localhost_ports(const struct policy *policy, uint16_t *ports,
			      size_t max);

/* "allow GET,HEAD example.com:443/a": one text for rules that mean the same. */
void policy_rule_text(const struct policy_rule *rule, char *out, size_t size);
enum policy_scope policy_rule_scope(const struct policy_rule *rule);
const char *policy_rule_source(const struct policy_rule *rule);
unsigned policy_rule_line(const struct policy_rule *rule);
size_t policy_rule_count(const struct policy *policy);
bool policy_allows_by_default(const struct policy *policy);

const char *policy_scope_name(enum policy_scope scope);
int policy_scope_parse(const char *name, enum policy_scope *scope);
