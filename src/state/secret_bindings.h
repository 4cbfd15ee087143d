/* SPDX-License-Identifier: Apache-2.0 */
/*
 * secret_bindings.h - which secrets a sandbox has, and where each may go
 *
 * Its own win over those of all sandboxes; those of a session, which lie in no
 * file, over both. What the secret does not say its service does. Pure.
 */
#pragma once

#include <jansson.h>

/* For secrets without a service. */
#define SECRET_BINDINGS_PREFIX "bawn-"
#define SECRET_BINDINGS_LENGTH 40
/* The scope of one that a login in the guest made (logins.h). */
#define SECRET_BINDINGS_LOGIN "login"

/*
 * Of checked stores (secret_store.h) and services. session: [{"name",
 * "value"}], or NULL. Each binding is {"name", "scope" ("global", "sandbox",
 * "session", "login"), "placeholder" (null: none yet), "value" | "command" with
 * "cache_s", "hosts", "headers", "query", "methods", "paths", "variables",
 * "plain_http"}. What has neither a service nor hosts and headers of its own
 * is left out.
 */
json_t *secret_bindings_make(const json_t *services, const json_t *all,
			     const json_t *own, const json_t *session);
/*
 * Makes the placeholders that a sandbox's store does not have yet: 1, or 0 when
 * there is nothing to save. The bindings have them afterwards.
 */
int secret_bindings_fill(json_t *bindings, const json_t *services, json_t *own);
/* Borrowed; NULL: there is none. */
json_t *secret_bindings_find(const json_t *bindings, const char *name);
