/* SPDX-License-Identifier: Apache-2.0 */
/*
 * logins.h - services where a guest may log in, and the tokens of its logins
 *
 * Part of the list of secrets (bindings.h), next to "secrets":
 *   "logins": [{"name", "endpoints": ["HOST/PATH"], "tokens": [{"field",
 *     "placeholder", "value"}]}]
 * Placeholder and value have the same length, so that a body keeps its own.
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

#define LOGINS_MAX 64
#define LOGIN_TOKENS_MAX 3

struct login_token {
	char *field, *placeholder; /* owned */
	struct secret *value;      /* owned */
	struct mask_forms *forms;  /* owned */
};

struct login {
	char *name;           /* owned */
	struct policy *hosts; /* owned: names of the endpoints */
	struct policy *where; /* owned: requests to them */
	struct login_token tokens[LOGIN_TOKENS_MAX];
	size_t count;
};

/* Release it in any case. */
int login_read(json_t *json, struct login *login, struct error *err);
void login_release(struct login *login);
bool login_has_host(const struct login *login, const char *name, uint16_t port);
bool login_has_request(const struct login *login,
		       const struct policy_request *request);
