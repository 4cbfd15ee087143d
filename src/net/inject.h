/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inject.h - puts secrets into requests, and takes other credentials out
 *
 * A guest has placeholders. For a host that a secret is bound to, a header of
 * the service (or a key of the query) that carries the placeholder gets the
 * secret in its place, also inside Basic; when none does, the service's first
 * header is added. All other credentials that a request to such a host has are
 * the guest's own, perhaps somebody else's account to send things to: they are
 * removed. Bodies are never changed: what stands in one can be read again
 * elsewhere. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "wire/http_head.h"

struct binding;
struct bindings;
struct target;

/* All that decides whether a secret may go along. */
struct inject_facts {
	const struct target *target;
	bool encrypted;   /* TLS, on both sides */
	bool verified;    /* the server proved the name, to the host's trust */
	bool names_agree; /* the name asked for = SNI = Host */
	bool bypassed;    /* a rule says: never look inside */
	const char *method;
	const char *path; /* normal, without query; NULL: there is no such */
};

/* NULL: it may; else what alone is enough to refuse it (static). */
const char *inject_may(const struct binding *binding,
		       const struct inject_facts *facts);

#define INJECT_ARENA_SIZE ((size_t)96 * 1024)
#define INJECT_USED_MAX 16

struct injection {
	bool bound; /* some secret is bound to this host */
	const struct binding *used[INJECT_USED_MAX]; /* put in */
	size_t used_count;
	/* One that is bound, may be used, and has no value now; or NULL. */
	const struct binding *missing;
	size_t arena_used; /* what is to be wiped of it */
	/* One that may go along only if the body is one of its questions. */
	const struct binding *question;
};
/* Is it? What a client ends its text with does not count. */
bool inject_is_question(const struct binding *binding, const char *path,
			struct span body);

/*
 * Changes the head of a request. New texts lie in arena, which has
 * INJECT_ARENA_SIZE bytes, outlives the request and is to be wiped. -1: it does
 * not fit.
 */
int inject_request(const struct bindings *bindings,
		   const struct inject_facts *facts,
		   struct http_request *request, char *arena,
		   struct injection *out);
/* A credential, whoever's: no trailer may be one. */
bool inject_is_credential(struct span name);
