/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h - the secrets of a sandbox, as commands see them
 *
 * A guest gets placeholders. Values stay in the files of secret_store.h, or,
 * for a session, with the sandbox's launcher.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>

struct error;
struct options;
struct sandbox;

/*
 * What is bound to the sandbox (secret_bindings.h), each with a placeholder
 * that is kept. session: as there, or NULL. Caller owns it.
 */
json_t *keys_bindings(const struct sandbox *sandbox, const json_t *session,
		      struct error *err);
/* VARIABLE -> placeholder of each binding, into the object. */
void keys_add_variables(const json_t *bindings, json_t *variables);
/* "keys" of the network's settings at a start (PROTOCOL.md §5). */
json_t *keys_settings(const struct sandbox *sandbox, struct error *err);
/* Names only, for `inspect`. */
json_t *keys_names(const struct sandbox *sandbox);
/* Of logins of the sandbox's whose renewal was refused; the caller's. */
json_t *keys_over(const struct sandbox *sandbox);

/*
 * [{"name", "value"}] for this session: -e KEY of a service, and the agent's
 * own keys of the caller's environment where no secret is stored and none of
 * the given variables is such a key. Says on stderr what `-e KEY=VALUE` gives
 * away. Caller owns it.
 */
json_t *keys_session(const struct sandbox *sandbox,
		     const struct options *options, const json_t *given,
		     struct error *err);
/*
 * Tells the sandbox's launcher that secrets have changed, with those of a
 * session or NULL; it answers when they are in force. One that does not run is
 * fine where session is NULL. Says which are newly bound.
 */
int keys_tell(const struct sandbox *sandbox, const json_t *session,
	      struct error *err);
/* The same for every sandbox; the first failure is told. */
int keys_tell_all(struct error *err);
