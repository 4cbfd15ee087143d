/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.h - services where a guest may log in, and the tokens of its logins
 *
 * Part of the list of secrets (bindings.h), next to "secrets":
 *   "logins": [{"name", "endpoints": ["HOST/PATH"], "tokens": [{"field",
 *     "placeholder", "value"}], "expires"?, "refused"?, "scope"?, "renew"?:
 *     {"endpoint", "type", "fields": {NAME: TEXT}, "scope"?}}]
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct error;
struct mask_forms;
struct policy;
struct policy_request;
struct secret;

#define LOGIN_ACCESS "access_token"
#define LOGIN_REFRESH "refresh_token"
#define LOGINS_MAX 64
#define LOGIN_TOKENS_MAX 3
#define LOGIN_SCOPE_MAX 1024

struct login_token {
	char *field, *placeholder; /* owned */
	struct secret *value;      /* owned */
	struct mask_forms *forms;  /* owned */
};

/* How the host asks for new tokens by itself. */
struct login_renew {
	char *host; /* owned; NULL: it does not */
	uint16_t port;
	char *path;           /* owned */
	bool form;            /* else JSON */
	char *before, *after; /* owned: of the refresh token, in the body */
};

struct login {
	char *name;           /* owned */
	struct policy *hosts; /* owned: names of the endpoints */
	struct policy *where; /* owned: requests to them */
	struct policy *near;  /* owned: denies what a server may take for one */
	struct login_token tokens[LOGIN_TOKENS_MAX];
	size_t count;
	int64_t expires; /* the second that the access token ends; 0 */
	bool refused;    /* no renewal was granted: it is of no use to ask */
	struct login_renew renew;
};

/* RFC 6749, 3.3, and not too long or empty. */
bool login_is_scope(const char *text);
/* Release it in any case. */
int login_read(json_t *json, struct login *login, struct error *err);
void login_release(struct login *login);
/* NULL: there is none of that field. */
const struct login_token *login_token(const struct login *login,
				      const char *field);
/* Can the host get new tokens for it? */
bool login_renewable(const struct login *login);
bool login_has_host(const struct login *login, const char *name, uint16_t port);
bool login_has_request(const struct login *login,
		       const struct policy_request *request);
/*
 * The same, spelled in any way that a server may understand: other case, empty
 * segments. Its answer is held too, but nothing is put into it.
 */
bool login_has_near(const struct login *login,
		    const struct policy_request *request);
