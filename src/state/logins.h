/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.h - tokens of logins that a guest made, kept on the host
 *
 * In a sandbox's store (secret_store.h):
 *   "logins": {SERVICE: {"set", "tokens": {FIELD: {"value", "placeholder"}}}}
 * A login without tokens is one that is waited for. The guest has placeholders
 * of the same length and shape. The access token is bound as the service's
 * secret; the others leave only for the service's token endpoints. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct error;

#define LOGIN_ACCESS "access_token"
#define LOGIN_TOKEN_MAX 8192
#define LOGIN_TOKEN_MIN 24

/* "logins" of a store that was read. */
int logins_check(json_t *logins, struct error *err);
/*
 * What bawn-net is told: [{"name", "endpoints": ["HOST/PATH"], "tokens":
 * [{"field", "placeholder", "value"}]}] of each service with token endpoints
 * that is the agent's, or that a login was made or is waited for. agent may be
 * NULL. Caller owns it.
 */
json_t *logins_for(const json_t *services, const json_t *own,
		   const char *agent);
/*
 * New tokens, as bawn-net tells them: [{"field", "placeholder", "value"}].
 * Those that are not among them stay. Takes no reference.
 */
int logins_put(json_t *own, const json_t *services, const char *service,
	       const json_t *tokens, struct error *err);
/* A login is waited for from now on: 1, or 0 when it was already. */
int logins_expect(json_t *own, const char *service);
/* 1 when there was one. */
int logins_remove(json_t *own, const char *service);
