/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.h - tokens of logins that a guest made, kept on the host
 *
 * In a sandbox's store (secret_store.h):
 *   "logins": {SERVICE: {"set", "tokens": {FIELD: {"value", "placeholder"}},
 *     "expires"?, "refused"?, "all"?, "scope"?}}
 * A login without tokens is one that is waited for; until the second "all" it
 * becomes one of all sandboxes, and lies in their store. The guest has
 * placeholders of the same shape. The access token is bound as the service's
 * secret; the others leave only for the service's token endpoints. "expires" is
 * the second that the access token ends at, "refused" when a renewal was
 * refused for good: the login has to be made again; "scope" what was granted,
 * which a renewal asks for again. Pure.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct error;

#define LOGIN_ACCESS "access_token"
#define LOGIN_REFRESH "refresh_token"
#define LOGIN_TOKEN_MAX 8192
#define LOGIN_TOKEN_MIN 24
#define LOGIN_SCOPE_MAX 1024

/* "logins" of a store that was read. */
int logins_check(json_t *logins, struct error *err);
/*
 * What bawn-net is told: [{"name", "endpoints": ["HOST/PATH"], "tokens":
 * [{"field", "placeholder", "value"}], "expires" (0: unknown), "refused",
 * "scope"?, "renew"?}] of each service with token endpoints that is the
 * agent's, or that a login was made or is waited for, here or for all. all and
 * agent may be NULL. Caller owns it.
 */
json_t *logins_for(const json_t *services, const json_t *all, const json_t *own,
		   const char *agent);
/*
 * New tokens, as bawn-net tells them: [{"field", "placeholder", "value"}].
 * Those that are not among them stay. Takes no reference.
 */
int logins_put(json_t *store, const json_t *services, const char *service,
	       const json_t *tokens, struct error *err);
/* Of one that is there: when its access token ends; 0: unknown. */
void logins_set_expiry(json_t *store, const char *service, int64_t expires);
/* Of one that is there: what it was granted; "" or NULL: unknown. What is no
 * scope is not kept. */
void logins_set_scope(json_t *store, const char *service, const char *scope);
/* 1, or 0 when there is none, or it was refused before. */
int logins_refuse(json_t *store, const char *service);
/* Borrowed; NULL: there is none. */
json_t *logins_of(const json_t *store, const char *service);
/* It has an access token. */
bool login_is_made(const json_t *login);
/* It has a refresh token, and nobody refused it. */
bool login_is_renewable(const json_t *login);
/* A login is waited for from now on: 1, or 0 when it was already. */
int logins_expect(json_t *own, const char *service);
/* The same, and it will be for all sandboxes if it is made by then. */
void logins_expect_for_all(json_t *own, const char *service, int64_t until);
/* Such a one, now. */
bool login_is_for_all(const json_t *login);
/* 1 when there was one. */
int logins_remove(json_t *store, const char *service);
